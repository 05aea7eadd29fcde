// SPDX-License-Identifier: MIT
// Goal: the queue of a lock keeps its order and its counts in every order of requests: who cannot
// be told keeps its place, nobody passes one that lives, the first knows that it is the first, and
// no script leaves a free lock to somebody who could be told. Method: scripts, and inboxes that are
// open for some clients only.
#include "fault/redis_script.hpp"

#include <functional>

namespace mortise::fault {
namespace {

class RedisQueue : public RedisScriptTest {
 protected:
  void wait(std::string_view clients) {
    for (const char client : clients) ASSERT_EQ(acquire(client), "queued") << client;
  }
  /// It asks again. @return whether it is told that nobody waits in front of it
  [[nodiscard]] bool is_first(char client, const Ask& its) {
    const redis::Answer answer = ask(client, its);
    EXPECT_EQ(answer.kind, redis::Answer::Kind::queued);
    return answer.first;
  }
  [[nodiscard]] bool is_first(char client) { return is_first(client, {}); }
  /// Behind a's hold: b, then many who gave up, then y.
  void wait_around_a_gap(const Ask& its) {
    ASSERT_EQ(acquire('a', its), "granted");
    ASSERT_EQ(acquire('b', its), "queued");
    std::vector<RedisTalk::Command> come;
    std::vector<RedisTalk::Command> go;
    for (int i = 0; i < 900; ++i) {
      const std::string who = std::string(16, 'd') + std::to_string(i);
      come.push_back(asking(who, its, 'w'));
      go.push_back({who, life_of_next});
    }
    static_cast<void>(call_all(redis::scripts::acquire, come, its.keyed));
    ASSERT_EQ(acquire('y', its), "queued");
    static_cast<void>(call_all(redis::scripts::cancel, go, its.keyed));
    // As those do each second who live.
    ASSERT_EQ(acquire('b', its), "queued");
    ASSERT_EQ(acquire('y', its), "queued");
    ASSERT_EQ(waiting("a"), 2U);
  }
  /// Many that have no inbox any more.
  void deaf(int count, const std::string& contact) {
    for (int i = 0; i < count; ++i) {
      const std::string who = std::string(16, 'd') + std::to_string(i);
      static_cast<void>(call(redis::scripts::acquire, asking(who, {}, 'w')));
      if (!contact.empty()) set_heard(who, contact);
    }
  }
};

TEST_F(RedisQueue, IsServedInOrderAndCountsItsWaiters) {
  const RedisTalk hears = listen("bcd");
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_NO_FATAL_FAILURE(wait("bcd"));
  std::size_t left = 3;
  for (const char next : {'b', 'c', 'd'}) {
    EXPECT_EQ(waiting("a"), left--);
    ASSERT_EQ(release(), "released");
    EXPECT_TRUE(holds(next)) << next;
    if (next != 'd') {
      EXPECT_TRUE(is_first(static_cast<char>(next + 1))) << next;
    }
  }
  EXPECT_EQ(get("readers_until"), "") << "the short way is closed";
  ASSERT_EQ(release(), "released");
  expect_free("a");
}

// Promise: L5
TEST_F(RedisQueue, KeepsThePlaceOfWhoHasNoInboxJustNow) {
  const RedisTalk hears = listen("c");
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_NO_FATAL_FAILURE(wait("bc"));
  ASSERT_EQ(release(), "released");
  EXPECT_TRUE(holds('c'));
  EXPECT_EQ(waiting("a"), 1U);
  const RedisTalk also = listen("b");
  ASSERT_EQ(release(), "released");
  EXPECT_TRUE(holds('b'));
}

TEST_F(RedisQueue, KeepsAllWhereNobodyHasAnInbox) {
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_NO_FATAL_FAILURE(wait("b"));
  ASSERT_EQ(release(), "released");
  EXPECT_FALSE(is_held("a"));
  EXPECT_EQ(waiting("a"), 1U);
  EXPECT_EQ(acquire('b'), "granted");
  EXPECT_EQ(waiting("a"), 0U);
}

// A newcomer may not know that one of those whom the script did not look at lives.
// Promise: L5
TEST_F(RedisQueue, IsNotPassedByWhoComesWhileManyCanNotBeTold) {
  const RedisTalk hears = listen("b");
  ASSERT_EQ(acquire('a'), "granted");
  deaf(70, "");
  ASSERT_NO_FATAL_FAILURE(wait("b"));
  ASSERT_EQ(release(), "released");
  EXPECT_EQ(acquire('c', {.waits = false}), "busy");
  EXPECT_FALSE(is_held("a"));
}

TEST_F(RedisQueue, LosesItsDeadAFewAtATime) {
  ASSERT_EQ(acquire('a'), "granted");
  deaf(70, "1000000");
  ASSERT_EQ(release(), "released");
  EXPECT_EQ(waiting("a"), 6U) << "one script takes so long for 64, and all others wait";
  EXPECT_EQ(acquire('c'), "granted");
  EXPECT_EQ(waiting("a"), 0U);
}

// Its process stands still, or is gone, and somebody who watches reads along.
TEST_F(RedisQueue, LosesWhoIsSilentAlthoughHisInboxIsRead) {
  const RedisTalk hears = listen("bc");
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_NO_FATAL_FAILURE(wait("bc"));
  set_heard(attempt('b'), "1000000");
  ASSERT_EQ(release(), "released");
  EXPECT_TRUE(holds('c'));
  EXPECT_EQ(waiting("a"), 0U);
}

TEST_F(RedisQueue, KeepsWhoAsksAgain) {
  const RedisTalk hears = listen("b");
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_NO_FATAL_FAILURE(wait("b"));
  set_heard(attempt('b'), "1000000");
  ASSERT_NO_FATAL_FAILURE(wait("b"));
  EXPECT_EQ(waiting("a"), 1U);
  ASSERT_EQ(release(), "released");
  EXPECT_TRUE(holds('b'));
}

// It needs no message and no provisional lease: it has an answer.
TEST_F(RedisQueue, ServesWhoAsksWithHisWholeLease) {
  RedisTalk hears = listen("b");
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_NO_FATAL_FAILURE(wait("b"));
  lapse();
  EXPECT_EQ(acquire('b'), "granted");
  EXPECT_TRUE(lasts(30'000));
  EXPECT_EQ(waiting("a"), 0U);
  EXPECT_FALSE(hears.receive(100ms));
}

// It would believe it, and the next one, too.
TEST_F(RedisQueue, IsToldNothingThatTheServerRefusesToNote) {
  RedisTalk hears = listen("b");
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_NO_FATAL_FAILURE(wait("b"));
  lapse();
  server().talk().expect_ok({"CONFIG", "SET", "min-replicas-to-write", "1"});
  EXPECT_THROW(acquire('c'), test::RedisTalkError);
  EXPECT_THROW(release(), test::RedisTalkError);
  EXPECT_FALSE(hears.receive(100ms));
  server().talk().expect_ok({"CONFIG", "SET", "min-replicas-to-write", "0"});
  EXPECT_EQ(acquire('c'), "queued");
  EXPECT_TRUE(holds('b'));
}

TEST_F(RedisQueue, TellsItsFirst) {
  const RedisTalk hears = listen("bcdef");
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_NO_FATAL_FAILURE(wait("bcde"));
  EXPECT_TRUE(is_first('b'));
  EXPECT_FALSE(is_first('c'));
  static_cast<void>(cancel('c'));
  static_cast<void>(cancel('b'));
  EXPECT_TRUE(is_first('d')) << "those in front have left";
  static_cast<void>(cancel('e'));
  ASSERT_EQ(release(), "released");
  ASSERT_TRUE(holds('d'));
  ASSERT_NO_FATAL_FAILURE(wait("f"));
  EXPECT_TRUE(is_first('f')) << "the last of those before has left";
}

// Without it nobody asks before the next of its time, a second later.
TEST_F(RedisQueue, TellsWhoWaitsBehindAPlaceThatWasLeft) {
  RedisTalk hears = listen("bcd");
  const auto told = [&] {
    const auto push = hears.receive(patience);
    return push ? push->items.back().text : std::string("nobody");
  };
  const auto waits = [&](char client) { return acquire(client, {.order = 'u'}); };
  ASSERT_EQ(waits('a'), "granted");
  for (const char client : {'b', 'c', 'd'}) ASSERT_EQ(waits(client), "queued");
  static_cast<void>(cancel('c'));
  ASSERT_EQ(release('u'), "released");
  EXPECT_EQ(told(), "L " + attempt('b') + " " + key("a"));
  ASSERT_EQ(waits('b'), "granted");
  ASSERT_EQ(release('u'), "released");
  EXPECT_EQ(told(), "L " + attempt('d') + " " + key("a"));
}

TEST_F(RedisQueue, TellsTheFirstWhoLivesAndCanBeTold) {
  RedisTalk hears = listen("bd");
  const auto waits = [&](char client) { return acquire(client, {.order = 'u'}); };
  ASSERT_EQ(waits('a'), "granted");
  for (const char client : {'b', 'c', 'd'}) ASSERT_EQ(waits(client), "queued");
  set_heard(attempt('b'), "1000000");
  ASSERT_EQ(release('u'), "released");
  const auto push = hears.receive(patience);
  ASSERT_TRUE(push);
  EXPECT_EQ(push->items.back().text, "L " + attempt('d') + " " + key("a"));
  EXPECT_EQ(waiting("a"), 2U) << "who is silent is gone, and who has no inbox keeps its place";
}

// One line of a script writes the message for an owner, and another one the message for a reader.
TEST_F(RedisQueue, TellsTheWholeNameWhateverBytesItHas) {
  at_ = key(std::string("a\0b", 3));
  RedisTalk hears = listen("b");
  for (const char kind : {'w', 'r'}) {
    server().talk().expect_ok({"FLUSHALL"});
    ASSERT_EQ(acquire('a'), "granted");
    ASSERT_EQ(word_of(call(redis::scripts::acquire, asking(attempt('b'), {}, kind))), "queued");
    ASSERT_EQ(release(), "released");
    const auto push = hears.receive(patience);
    ASSERT_TRUE(push) << kind;
    const std::string& text = push->items.back().text;
    EXPECT_TRUE(text.starts_with("G " + attempt('b') + " ")) << text;
    EXPECT_TRUE(text.ends_with(" " + at_)) << kind << ": " << text;
  }
}

// An administrator has removed it.
TEST_F(RedisQueue, IsJoinedBehindAHolderWithoutALabel) {
  ASSERT_EQ(acquire('a'), "granted");
  server().talk().expect_ok({"HDEL", at_, test::stored_field("label")});
  EXPECT_EQ(ask('b', {.waits = false}).kind, redis::Answer::Kind::busy);
  EXPECT_EQ(ask('b', {}).kind, redis::Answer::Kind::queued);
  EXPECT_EQ(ask('c', {}).kind, redis::Answer::Kind::queued);
}

// Of the lease that is asked for with the release, the waiter's part is a provisional lease.
TEST_F(RedisQueue, HandsOverAProvisionalLease) {
  const RedisTalk hears = listen("bc");
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_NO_FATAL_FAILURE(wait("bc"));
  ASSERT_EQ(release(), "released");
  EXPECT_TRUE(lasts(2'000));
  lapse();
  ASSERT_EQ(acquire('d', {.waits = false}), "busy");
  ASSERT_TRUE(holds('c'));
  EXPECT_TRUE(lasts(2'000));
}

// Promise: L2
TEST_F(RedisQueue, IsServedByWhateverComesAfterAHoldHasLapsed) {
  const Held forged{attempt('z'), "1"};
  const std::vector<std::pair<const char*, std::function<void()>>> ways{
      {"its release", [&] { EXPECT_EQ(release(), "expired"); }},
      {"another's release", [&] { EXPECT_EQ(release_of(forged), "not_held"); }},
      {"a try", [&] { EXPECT_EQ(acquire('z', {.waits = false}), "busy"); }},
      {"a cancel", [&] { EXPECT_EQ(cancel('z'), "busy"); }},
      {"an administrator", [&] { EXPECT_EQ(force("1"), "not_held"); }}};
  const RedisTalk hears = listen("b");
  for (const auto& [about, script] : ways) {
    server().talk().expect_ok({"FLUSHALL"});
    ASSERT_EQ(acquire('a'), "granted");
    ASSERT_NO_FATAL_FAILURE(wait("b"));
    lapse();
    script();
    EXPECT_TRUE(holds('b')) << about;
    EXPECT_EQ(waiting("a"), 0U) << about;
  }
}

TEST_F(RedisQueue, OfModeUnfairIsServedByTheSixteenthRelease) {
  RedisTalk hears = listen("b");
  ASSERT_EQ(acquire('a', {.order = 'u'}), "granted");
  ASSERT_EQ(acquire('b', {.order = 'u'}), "queued");
  for (int i = 1; i < 16; ++i) {
    ASSERT_EQ(release('u'), "released");
    EXPECT_EQ(get("lease"), "") << i;  // to ask for the holder would give it to the waiter
    const auto push = hears.receive(patience);
    ASSERT_TRUE(push) << i;
    EXPECT_THAT(push->items.back().text, HasSubstr("L " + attempt('b'))) << "it may look";
    EXPECT_EQ(acquire('a', {.order = 'u'}), "granted") << "newcomers may be quicker " << i;
  }
  ASSERT_EQ(release('u'), "released");
  EXPECT_TRUE(holds('b'));
}

// Thousands of tries that timed out stood in front of the only one who waits, and behind the first:
// whoever gave up costs the others no look.
TEST_F(RedisQueue, IsNoLongerForThoseWhoGaveUp) {
  const RedisTalk hears = listen("y");
  ASSERT_NO_FATAL_FAILURE(wait_around_a_gap({}));
  ASSERT_EQ(cancel('b'), "busy");
  ASSERT_EQ(waiting("a"), 1U);
  EXPECT_TRUE(is_first('y'));
  ASSERT_EQ(release(), "released");
  EXPECT_TRUE(holds('y'));
}

TEST_F(RedisQueue, OfModeUnfairIsNoLongerForThoseWhoGaveUp) {
  RedisTalk hears = listen("by");
  ASSERT_NO_FATAL_FAILURE(wait_around_a_gap({.order = 'u'}));
  for (const char next : {'b', 'y'}) {
    ASSERT_EQ(release('u'), "released");
    const auto push = hears.receive(patience);
    ASSERT_TRUE(push) << next;
    EXPECT_EQ(push->items.back().text, "L " + attempt(next) + " " + key("a"));
    ASSERT_EQ(acquire(next, {.order = 'u'}), "granted");
  }
}

// Where one served before it has left, it is the first, and listens for Redisson: it knows that,
// and is not taken for one of Redisson's, for whom a release would keep the lock.
TEST_F(RedisQueue, OfModeRedissonIsNoLongerForThoseWhoGaveUp) {
  RedisTalk hears = listen("by");
  ASSERT_NO_FATAL_FAILURE(wait_around_a_gap({.keyed = true}));
  ASSERT_EQ(release('r'), "released");
  ASSERT_TRUE(holds('b'));
  EXPECT_TRUE(is_first('y', {.keyed = true}));
  hears.expect_ok({"SUBSCRIBE", "redisson_lock__channel:{a}"});
  EXPECT_TRUE(is_first('y', {.keyed = true, .hears = true}));
  ASSERT_EQ(release('r'), "released");
  EXPECT_TRUE(holds('y'));
}

// And while one of Redisson's listens, each release tells the first of ours to look.
TEST_F(RedisQueue, OfModeRedissonTellsWhoWaitsBehindThoseWhoGaveUp) {
  RedisTalk hears = listen("y");
  ASSERT_NO_FATAL_FAILURE(wait_around_a_gap({.keyed = true}));
  lapse();
  ASSERT_EQ(acquire('b', {.keyed = true}), "granted");
  RedisTalk redisson = server().talk();
  redisson.expect_ok({"SUBSCRIBE", "redisson_lock__channel:{a}"});
  ASSERT_EQ(release('r'), "released");
  const auto push = hears.receive(patience);
  ASSERT_TRUE(push);
  EXPECT_EQ(push->items.back().text, "L " + attempt('y') + " " + key("a"));
}

TEST_F(RedisQueue, LeavesNothingOfThoseWhoComeAndGo) {
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_NO_FATAL_FAILURE(wait("b"));
  const std::size_t of_one = queued("a").size();
  for (int i = 0; i < 20; ++i) {
    ASSERT_NO_FATAL_FAILURE(wait("cde"));
    for (const char who : {'d', 'e', 'c'}) ASSERT_EQ(cancel(who), "busy");
  }
  EXPECT_EQ(queued("a").size(), of_one);
  ASSERT_EQ(cancel('b'), "busy");
  EXPECT_THAT(queued("a"), IsEmpty());
}

// Each key that the scripts write may be removed by hand.
TEST_F(RedisQueue, GoesOnWithoutAnyOneOfItsKeys) {
  for (const char* const which : {"", ":queue", ":waiters"}) {
    server().talk().expect_ok({"FLUSHALL"});
    const RedisTalk hears = listen("bc");
    ASSERT_EQ(acquire('a'), "granted");
    ASSERT_NO_FATAL_FAILURE(wait("b"));
    ASSERT_EQ(server().talk().expect_ok({"DEL", key("a") + which}).integer, 1) << which;
    const char holder = *which == '\0' ? 'c' : 'a';
    EXPECT_EQ(acquire('c', {.waits = false}), holder == 'c' ? "granted" : "busy") << which;
    EXPECT_EQ(acquire('b'), "queued") << which;
    EXPECT_TRUE(holds(holder)) << which;
    ASSERT_EQ(release(), "released") << which;
    EXPECT_TRUE(holds('b')) << which;
    ASSERT_EQ(release(), "released") << which;
    expect_free("a");
  }
}

// Promise: L5
TEST_F(RedisQueue, KeepsItsOrderWithoutTheHash) {
  RedisTalk hears = listen("bc");
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_NO_FATAL_FAILURE(wait("bc"));
  ASSERT_EQ(server().talk().expect_ok({"DEL", key("a")}).integer, 1);
  ASSERT_EQ(acquire('d', {.waits = false}), "granted");
  EXPECT_EQ(acquire('b'), "queued") << "the first waiter asks first";
  EXPECT_EQ(acquire('c'), "queued");
  EXPECT_EQ(release(), "released");
  EXPECT_TRUE(holds('b'));
  EXPECT_EQ(release(), "released");
  EXPECT_TRUE(holds('c'));
}

// No client reads its reply any more.
// Promise: S5
TEST_F(RedisQueue, IsNotJoinedByACopyThatComesLate) {
  const Ask late{.void_after = "1000"};
  EXPECT_EQ(acquire('a', late), "too_late");
  EXPECT_FALSE(is_held("a"));
  ASSERT_EQ(acquire('b'), "granted");
  EXPECT_EQ(acquire('a', late), "too_late");
  EXPECT_EQ(acquire('b', late), "too_late");
  EXPECT_EQ(waiting("a"), 0U);
  RedisTalk::Command words = releasing(hold());
  const RedisTalk::Command successor = asking(attempt('a'), late, 'w');
  words.insert(words.end(), successor.begin(), successor.end());
  const RedisAnswer answer = call(redis::scripts::release, words);
  EXPECT_EQ(word_of(answer), "released") << "a release is of exactly its hold, however late";
  EXPECT_EQ(word_of(answer.items.at(2)), "too_late");
  expect_free("a");
}

// Where the look ended before all were looked at, whoever asks is told to ask again at once.
TEST_F(RedisQueue, IsLookedAtAgainAtOnceWhereALookGetsFurther) {
  ASSERT_EQ(acquire('a'), "granted");
  deaf(200, "1000000");
  ASSERT_NO_FATAL_FAILURE(wait("b"));
  lapse();
  for (int asked = 0; asked < 3; ++asked) {
    const redis::Answer answer = ask('b', {});
    ASSERT_EQ(answer.kind, redis::Answer::Kind::queued) << asked;
    EXPECT_EQ(answer.left, 0us) << asked;
    EXPECT_TRUE(answer.first) << asked;
  }
  EXPECT_EQ(acquire('b'), "granted");
}

}  // namespace
}  // namespace mortise::fault
