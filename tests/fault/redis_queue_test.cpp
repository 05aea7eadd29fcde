// SPDX-License-Identifier: MIT
// Goal: the queue of a lock keeps its order and its counts in every order of requests: who cannot
// be told keeps its place, nobody passes one that lives, the first knows that it is the first, and
// no script leaves a free lock to somebody who could be told. Method: scripts, and inboxes that are
// open for some clients only.
#include "fault/redis_script.hpp"

#include <functional>

namespace mortise::fault {
namespace {

using ::testing::MatchesRegex;

class RedisQueue : public RedisScriptTest {
 protected:
  void wait(std::string_view clients) {
    for (const char client : clients) ASSERT_TRUE(acquire(client).starts_with("Q")) << client;
  }
  /// It asks again. @return whether it is told that nobody waits in front of it
  [[nodiscard]] bool is_first(char client, const std::string& flags = "f01") {
    const std::string answer = acquire(client, {.flags = flags});
    EXPECT_TRUE(answer.starts_with("Q")) << answer;
    std::size_t at = 0;
    for (int words = 0; words < 3; ++words) at = answer.find(' ', at) + 1;
    return answer.at(at) == '1';
  }
  void last_heard_of(int place, std::string who, const std::string& when) {
    set("#" + std::to_string(place), who.append(" ").append(when).append(" 30000 "));
  }
  /// Behind a's hold: b, then many who gave up, then y.
  void wait_around_a_gap(char mode) {
    const std::string flags = std::string(1, mode) + "01";
    ASSERT_TRUE(acquire('a', {.flags = flags}).starts_with("G"));
    ASSERT_TRUE(acquire('b', {.flags = flags}).starts_with("Q"));
    std::vector<RedisTalk::Command> come;
    std::vector<RedisTalk::Command> go;
    for (int i = 0; i < 900; ++i) {
      const std::string who = std::string(16, 'd') + std::to_string(i);
      come.push_back({who, flags, "1", "30000", ""});
      go.push_back({who, std::string(1, mode) + "0", "1"});
    }
    static_cast<void>(call_all(redis::scripts::acquire, come));
    ASSERT_TRUE(acquire('y', {.flags = flags}).starts_with("Q"));
    static_cast<void>(call_all(redis::scripts::cancel, go));
    // As those do each second who live.
    ASSERT_TRUE(acquire('b', {.flags = flags}).starts_with("Q"));
    ASSERT_TRUE(acquire('y', {.flags = flags}).starts_with("Q"));
    ASSERT_EQ(waiting("a"), 2U);
  }
  /// Many that have no inbox any more.
  void deaf(int count, const std::string& contact) {
    for (int i = 0; i < count; ++i) {
      const std::string who = std::string(16, 'd') + std::to_string(i);
      static_cast<void>(call(redis::scripts::acquire, {who, "f01", "1", "30000", ""}));
      if (!contact.empty()) last_heard_of(i, who, contact);
    }
  }
};

TEST_F(RedisQueue, IsServedInOrderAndCountsItsWaiters) {
  const RedisTalk hears = listen("bcd");
  ASSERT_TRUE(acquire('a').starts_with("G"));
  ASSERT_NO_FATAL_FAILURE(wait("bcd"));
  std::size_t left = 3;
  for (const char next : {'b', 'c', 'd'}) {
    EXPECT_EQ(waiting("a"), left--);
    ASSERT_EQ(release(), "F");
    EXPECT_TRUE(holds(next)) << next;
    if (next != 'd') {
      EXPECT_TRUE(is_first(static_cast<char>(next + 1))) << next;
    }
  }
  EXPECT_EQ(get("w"), "") << "the quick way is closed";
  ASSERT_EQ(release(), "F");
  expect_free("a");
}

// Promise: L5
TEST_F(RedisQueue, KeepsThePlaceOfWhoHasNoInboxJustNow) {
  const RedisTalk hears = listen("c");
  ASSERT_TRUE(acquire('a').starts_with("G"));
  ASSERT_NO_FATAL_FAILURE(wait("bc"));
  ASSERT_EQ(release(), "F");
  EXPECT_TRUE(holds('c'));
  EXPECT_EQ(waiting("a"), 1U);
  const RedisTalk also = listen("b");
  ASSERT_EQ(release(), "F");
  EXPECT_TRUE(holds('b'));
}

TEST_F(RedisQueue, KeepsAllWhereNobodyHasAnInbox) {
  ASSERT_TRUE(acquire('a').starts_with("G"));
  ASSERT_NO_FATAL_FAILURE(wait("b"));
  ASSERT_EQ(release(), "F");
  EXPECT_FALSE(is_held("a"));
  EXPECT_EQ(waiting("a"), 1U);
  EXPECT_TRUE(acquire('b').starts_with("G"));
  EXPECT_EQ(waiting("a"), 0U);
}

// A newcomer may not know that one of those whom the script did not look at lives.
// Promise: L5
TEST_F(RedisQueue, IsNotPassedByWhoComesWhileManyCanNotBeTold) {
  const RedisTalk hears = listen("b");
  ASSERT_TRUE(acquire('a').starts_with("G"));
  deaf(70, "");
  ASSERT_NO_FATAL_FAILURE(wait("b"));
  ASSERT_EQ(release(), "F");
  EXPECT_TRUE(acquire('c', {.flags = "f00"}).starts_with("B"));
  EXPECT_FALSE(is_held("a"));
}

TEST_F(RedisQueue, LosesItsDeadAFewAtATime) {
  ASSERT_TRUE(acquire('a').starts_with("G"));
  deaf(70, "1000000");
  ASSERT_EQ(release(), "F");
  EXPECT_EQ(waiting("a"), 6U) << "one script takes so long for 64, and all others wait";
  EXPECT_TRUE(acquire('c').starts_with("G"));
  EXPECT_EQ(waiting("a"), 0U);
}

// Its process stands still, or is gone, and somebody who watches reads along.
TEST_F(RedisQueue, LosesWhoIsSilentAlthoughHisInboxIsRead) {
  const RedisTalk hears = listen("bc");
  ASSERT_TRUE(acquire('a').starts_with("G"));
  ASSERT_NO_FATAL_FAILURE(wait("bc"));
  last_heard_of(0, attempt('b'), "1000000");
  ASSERT_EQ(release(), "F");
  EXPECT_TRUE(holds('c'));
  EXPECT_EQ(waiting("a"), 0U);
}

TEST_F(RedisQueue, KeepsWhoAsksAgain) {
  const RedisTalk hears = listen("b");
  ASSERT_TRUE(acquire('a').starts_with("G"));
  ASSERT_NO_FATAL_FAILURE(wait("b"));
  last_heard_of(0, attempt('b'), "1000000");
  ASSERT_NO_FATAL_FAILURE(wait("b"));
  EXPECT_EQ(waiting("a"), 1U);
  ASSERT_EQ(release(), "F");
  EXPECT_TRUE(holds('b'));
}

// It needs no message and no provisional lease: it has an answer.
TEST_F(RedisQueue, ServesWhoAsksWithHisWholeLease) {
  RedisTalk hears = listen("b");
  ASSERT_TRUE(acquire('a').starts_with("G"));
  ASSERT_NO_FATAL_FAILURE(wait("b"));
  lapse();
  EXPECT_TRUE(acquire('b').starts_with("G"));
  EXPECT_TRUE(lasts(30'000));
  EXPECT_EQ(waiting("a"), 0U);
  EXPECT_FALSE(hears.receive(100ms));
}

// It would believe it, and the next one, too.
TEST_F(RedisQueue, IsToldNothingThatTheServerRefusesToNote) {
  RedisTalk hears = listen("b");
  ASSERT_TRUE(acquire('a').starts_with("G"));
  ASSERT_NO_FATAL_FAILURE(wait("b"));
  lapse();
  server().talk().expect_ok({"CONFIG", "SET", "min-replicas-to-write", "1"});
  EXPECT_THROW(acquire('c'), test::RedisTalkError);
  EXPECT_THROW(renew(hold()), test::RedisTalkError);
  EXPECT_FALSE(hears.receive(100ms));
  server().talk().expect_ok({"CONFIG", "SET", "min-replicas-to-write", "0"});
  EXPECT_TRUE(acquire('c').starts_with("Q"));
  EXPECT_TRUE(holds('b'));
}

TEST_F(RedisQueue, TellsItsFirst) {
  const RedisTalk hears = listen("bcdef");
  ASSERT_TRUE(acquire('a').starts_with("G"));
  ASSERT_NO_FATAL_FAILURE(wait("bcde"));
  EXPECT_TRUE(is_first('b'));
  EXPECT_FALSE(is_first('c'));
  static_cast<void>(cancel('c'));
  static_cast<void>(cancel('b'));
  EXPECT_TRUE(is_first('d')) << "those in front have left";
  static_cast<void>(cancel('e'));
  ASSERT_EQ(release(), "F");
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
  const auto waits = [&](char client) { return acquire(client, {.flags = "u01"}); };
  ASSERT_TRUE(waits('a').starts_with("G"));
  for (const char client : {'b', 'c', 'd'}) ASSERT_TRUE(waits(client).starts_with("Q"));
  static_cast<void>(cancel('c', "u0"));
  ASSERT_EQ(release("u0"), "F");
  EXPECT_EQ(told(), "L " + attempt('b') + " " + key("a"));
  ASSERT_TRUE(waits('b').starts_with("G"));
  ASSERT_EQ(release("u0"), "F");
  EXPECT_EQ(told(), "L " + attempt('d') + " " + key("a"));
}

TEST_F(RedisQueue, TellsTheFirstWhoLivesAndCanBeTold) {
  RedisTalk hears = listen("bd");
  const auto waits = [&](char client) { return acquire(client, {.flags = "u01"}); };
  ASSERT_TRUE(waits('a').starts_with("G"));
  for (const char client : {'b', 'c', 'd'}) ASSERT_TRUE(waits(client).starts_with("Q"));
  last_heard_of(0, attempt('b'), "1000000");
  ASSERT_EQ(release("u0"), "F");
  const auto push = hears.receive(patience);
  ASSERT_TRUE(push);
  EXPECT_EQ(push->items.back().text, "L " + attempt('d') + " " + key("a"));
  EXPECT_EQ(waiting("a"), 2U) << "who is silent is gone, and who has no inbox keeps its place";
}

// Of the lease that is asked for with the release, the waiter's part is a provisional lease.
TEST_F(RedisQueue, HandsOverAProvisionalLease) {
  const RedisTalk hears = listen("bc");
  ASSERT_TRUE(acquire('a').starts_with("G"));
  ASSERT_NO_FATAL_FAILURE(wait("bc"));
  ASSERT_EQ(release(), "F");
  EXPECT_TRUE(lasts(2'000));
  lapse();
  ASSERT_EQ(renew(hold()), "0");
  ASSERT_TRUE(holds('c'));
  EXPECT_TRUE(lasts(2'000));
}

// Promise: L2
TEST_F(RedisQueue, IsServedByWhateverComesAfterAHoldHasLapsed) {
  const std::string forged = attempt('z') + " 1";
  const std::vector<std::pair<const char*, std::function<void()>>> ways{
      {"a look",
       [&] {
         static_cast<void>(call(redis::scripts::inspect, {"", "f"}));
       }},
      {"a renewal", [&] { EXPECT_EQ(renew(hold()), "0"); }},
      {"another's renewal", [&] { EXPECT_EQ(renew(forged), "0"); }},
      {"a release that is slow", [&] { EXPECT_EQ(release("f1", 2), "L"); }},
      {"another's release",
       [&] {
         EXPECT_EQ(call(redis::scripts::release, {forged, "f0", "1"}), "N");
       }},
      {"a try", [&] { EXPECT_TRUE(acquire('z', {.flags = "f00"}).starts_with("B")); }},
      {"a cancel", [&] { EXPECT_TRUE(cancel('z').starts_with("B")); }},
      {"an administrator", [&] {
         EXPECT_TRUE(call(redis::scripts::force_release, {"", "f", "1"}).starts_with("E"));
       }}};
  const RedisTalk hears = listen("b");
  for (const auto& [about, script] : ways) {
    server().talk().expect_ok({"FLUSHALL"});
    ASSERT_TRUE(acquire('a').starts_with("G"));
    ASSERT_NO_FATAL_FAILURE(wait("b"));
    lapse();
    script();
    EXPECT_TRUE(holds('b')) << about;
    EXPECT_EQ(waiting("a"), 0U) << about;
  }
}

TEST_F(RedisQueue, OfModeUnfairIsServedByTheSixteenthRelease) {
  RedisTalk hears = listen("b");
  ASSERT_TRUE(acquire('a', {.flags = "u01"}).starts_with("G"));
  ASSERT_TRUE(acquire('b', {.flags = "u01"}).starts_with("Q"));
  for (int i = 1; i < 16; ++i) {
    ASSERT_EQ(release("u0"), "F");
    EXPECT_EQ(get("g"), "") << i;  // to ask for the holder would give it to the waiter
    const auto push = hears.receive(patience);
    ASSERT_TRUE(push) << i;
    EXPECT_THAT(push->items.back().text, HasSubstr("L " + attempt('b'))) << "it may look";
    EXPECT_TRUE(acquire('a', {.flags = "u01"}).starts_with("G"))
        << "newcomers may be quicker " << i;
  }
  ASSERT_EQ(release("u0"), "F");
  EXPECT_TRUE(holds('b'));
}

// Thousands of tries that timed out stood in front of the only one who waits, and behind the first:
// whoever gave up costs the others no look.
TEST_F(RedisQueue, IsNoLongerForThoseWhoGaveUp) {
  const RedisTalk hears = listen("y");
  ASSERT_NO_FATAL_FAILURE(wait_around_a_gap('f'));
  ASSERT_TRUE(cancel('b').starts_with("B"));
  ASSERT_EQ(waiting("a"), 1U);
  EXPECT_TRUE(is_first('y'));
  ASSERT_EQ(release(), "F");
  EXPECT_TRUE(holds('y'));
}

TEST_F(RedisQueue, OfModeUnfairIsNoLongerForThoseWhoGaveUp) {
  RedisTalk hears = listen("by");
  ASSERT_NO_FATAL_FAILURE(wait_around_a_gap('u'));
  for (const char next : {'b', 'y'}) {
    ASSERT_EQ(release("u0"), "F");
    const auto push = hears.receive(patience);
    ASSERT_TRUE(push) << next;
    EXPECT_EQ(push->items.back().text, "L " + attempt(next) + " " + key("a"));
    ASSERT_TRUE(acquire(next, {.flags = "u01"}).starts_with("G"));
  }
}

// Where one served before it has left, it is the first, and listens for Redisson: it knows that,
// and is not taken for one of Redisson's, for whom a release would keep the lock.
TEST_F(RedisQueue, OfModeRedissonIsNoLongerForThoseWhoGaveUp) {
  RedisTalk hears = listen("by");
  ASSERT_NO_FATAL_FAILURE(wait_around_a_gap('r'));
  ASSERT_EQ(release("r0"), "F");
  ASSERT_TRUE(holds('b'));
  EXPECT_TRUE(is_first('y', "r01"));
  hears.expect_ok({"SUBSCRIBE", "redisson_lock__channel:{a}"});
  EXPECT_TRUE(is_first('y', "r011"));
  ASSERT_EQ(release("r0"), "F");
  EXPECT_TRUE(holds('y'));
}

// And while one of Redisson's listens, each release tells the first of ours to look.
TEST_F(RedisQueue, OfModeRedissonTellsWhoWaitsBehindThoseWhoGaveUp) {
  RedisTalk hears = listen("y");
  ASSERT_NO_FATAL_FAILURE(wait_around_a_gap('r'));
  lapse();
  ASSERT_TRUE(acquire('b', {.flags = "r01"}).starts_with("G"));
  RedisTalk redisson = server().talk();
  redisson.expect_ok({"SUBSCRIBE", "redisson_lock__channel:{a}"});
  ASSERT_EQ(release("r0"), "F");
  const auto push = hears.receive(patience);
  ASSERT_TRUE(push);
  EXPECT_EQ(push->items.back().text, "L " + attempt('y') + " " + key("a"));
}

TEST_F(RedisQueue, DoesNotGrowByThoseWhoComeAndGoAtItsEnd) {
  ASSERT_TRUE(acquire('a').starts_with("G"));
  ASSERT_NO_FATAL_FAILURE(wait("b"));
  const std::string end = get("t");
  for (int i = 0; i < 20; ++i) {
    ASSERT_NO_FATAL_FAILURE(wait("cde"));
    for (const char who : {'d', 'e', 'c'}) ASSERT_TRUE(cancel(who).starts_with("B"));
  }
  EXPECT_EQ(get("t"), end);
  ASSERT_TRUE(cancel('b').starts_with("B"));
  EXPECT_EQ(get("t"), "") << "nobody waits";
  EXPECT_EQ(get("h"), "");
}

// Where the look ended before all were looked at, whoever asks is told to ask again at once.
TEST_F(RedisQueue, IsLookedAtAgainAtOnceWhereALookGetsFurther) {
  ASSERT_TRUE(acquire('a').starts_with("G"));
  deaf(200, "1000000");
  ASSERT_NO_FATAL_FAILURE(wait("b"));
  lapse();
  for (int asked = 0; asked < 3; ++asked) {
    const std::string answer = acquire('b');
    EXPECT_THAT(answer, MatchesRegex("Q [0-9]+ 0 1 .*")) << asked;  // free, and you are the first
  }
  EXPECT_TRUE(acquire('b').starts_with("G"));
}

}  // namespace
}  // namespace mortise::fault
