// SPDX-License-Identifier: MIT
// Goal: each way to get a lock gives a number above the last one, although the server's clock has
// stepped back (S2), and whoever is told of a grant is told that number. A lease counts from the
// clock even if the number is ahead of the clock (S1, L1). Method: scripts on a lock whose last
// owner came when the clock was decades ahead.
#include "fault/redis_script.hpp"

namespace mortise::fault {
namespace {

class RedisNumbers : public RedisScriptTest {
 protected:
  /// A hold of 'a' with such a number, and 'b' behind it.
  void hold_ahead() {
    ASSERT_EQ(acquire('a'), "granted");
    set_ahead('a');
    ASSERT_EQ(acquire('b'), "queued");
  }
  void expect_told(RedisTalk& hears, std::uint64_t number) {
    const auto push = hears.receive(patience);
    ASSERT_TRUE(push);
    EXPECT_THAT(push->items.back().text,
                HasSubstr("G " + attempt('b') + " " + std::to_string(number) + " "));
  }
  /// A lock that was freed after the grant of this number.
  void free_after(std::uint64_t last) {
    server().talk().expect_ok({"DEL", at_});
    ASSERT_EQ(acquire('a'), "granted");
    ASSERT_EQ(release(), "released");
    set("grant", std::to_string(last));
  }
  /// A hold of 'a' with this number, which lasts for hours, and 'b' behind it.
  void hold_with(std::uint64_t number) {
    server().talk().expect_ok({"DEL", at_, at_ + ":queue", at_ + ":waiters"});
    ASSERT_EQ(acquire('a', {.lease = 24 * hour}), "granted");
    set("grant", std::to_string(number));
    ASSERT_EQ(acquire('b'), "queued");
  }
  /// The lease of 'a' ended a second ago. Its hash is as the grant wrote it.
  void outlast() {
    set("grant", std::to_string(server_time() - 31'000'000));
    ASSERT_EQ(get("lease"), "30000");
  }
  /// 'a' no longer holds the lock, and the next client takes it.
  void expect_over() {
    EXPECT_FALSE(holds('a')) << "from the number " << number() << " on, for ms: " << get("lease");
    EXPECT_EQ(acquire('z', {.waits = false}), "granted");
  }
  /// @param own as for acquire.lua
  RedisAnswer read(char client, const std::string& own = {}) {
    RedisTalk::Command words = asking(attempt(client), {.waits = false}, 'r');
    words.push_back(own);
    return call(redis::scripts::acquire, words);
  }
};

// Promise: S2
TEST_F(RedisNumbers, GrowOverAReleaseWhenTheClockSteppedBack) {
  for (const char order : {'f', 'u'}) {
    ASSERT_EQ(acquire('a'), "granted");
    ASSERT_EQ(release(), "released");
    set_ahead('a');
    ASSERT_EQ(acquire('b', {.order = order}), "granted");
    EXPECT_EQ(number(), ahead + 1) << order;
    ASSERT_EQ(release(), "released");
  }
}

// Promise: S2
TEST_F(RedisNumbers, GrowOverAHandOverWhenTheClockSteppedBack) {
  RedisTalk hears = listen("b");
  ASSERT_NO_FATAL_FAILURE(hold_ahead());
  ASSERT_EQ(release(), "released");
  EXPECT_TRUE(holds('b'));
  EXPECT_EQ(number(), ahead + 1);
  expect_told(hears, ahead + 1);
}

// A reader beside the owner had the largest number, and has let go.
// Promise: S2
TEST_F(RedisNumbers, GrowOverThatOfAReaderBesideTheOwner) {
  ASSERT_EQ(acquire('a'), "granted");
  set("readers_until", "0");
  set("max_grant", std::to_string(ahead));
  ASSERT_EQ(acquire('b', {.waits = false}), "busy");
  ASSERT_EQ(release(), "released");
  ASSERT_EQ(acquire('b', {.waits = false}), "granted");
  EXPECT_EQ(number(), ahead + 1);
}

TEST_F(RedisNumbers, GrowOverALapsedHoldWhenTheClockSteppedBack) {
  RedisTalk hears = listen("b");
  ASSERT_NO_FATAL_FAILURE(hold_ahead());
  lapse();
  ASSERT_EQ(renew(hold()), 0);
  ASSERT_EQ(acquire('z', {.waits = false}), "busy");
  EXPECT_TRUE(holds('b'));
  EXPECT_EQ(number(), ahead + 1);
  expect_told(hears, ahead + 1);
}

TEST_F(RedisNumbers, GrowTwiceOverAReleaseByForceWhenTheClockSteppedBack) {
  RedisTalk hears = listen("b");
  ASSERT_NO_FATAL_FAILURE(hold_ahead());
  const Held hold = this->hold();
  ASSERT_EQ(force_holder(), "released");
  EXPECT_TRUE(holds('b'));
  EXPECT_EQ(number(), ahead + 2);
  expect_told(hears, ahead + 2);
  EXPECT_EQ(renew(hold), 0);
}

// The clock stepped back: the hold lasts for so much longer, but its first renewal moves that end
// to where it belongs, and the next one may have it from then on. Promise: S1
TEST_F(RedisNumbers, AreNoReasonToBelieveInALongerLeaseThanWasAskedFor) {
  Proxy proxy(server().port());
  Client mine(proxy.url());
  mine.check(patience);
  proxy.refuse(true);
  proxy.cut_at(1, Proxy::Moment::reply);
  Lock lock = mine.make_lock("a", {.lease = 5s, .renew = false});
  Worker worker;
  auto locked = worker.start([&] {
    lock.lock();
    return lock.valid_for();
  });
  ASSERT_TRUE(eventually([&] { return is_held("a"); }));
  set("grant", std::to_string(number() + 60'000'000));  // from which the lease counts
  proxy.refuse(false);
  ASSERT_TRUE(comes(locked));
  const auto valid = locked.get();
  EXPECT_GT(valid, 1s);
  EXPECT_LE(valid, 5s);
}

// Promise: S1, L1
TEST_F(RedisNumbers, AheadOfTheClockDoNotProlongAGrant) {
  for (const std::uint64_t last : last_numbers()) {
    for (const bool looks_at_other_keys : {false, true}) {
      ASSERT_NO_FATAL_FAILURE(free_after(last));
      if (looks_at_other_keys) set("readers_until", "0");
      const RedisAnswer answer = call(redis::scripts::acquire, asking(attempt('b'), {}, 'w'));
      ASSERT_EQ(word_of(answer), "granted");
      expect_lease(answer, 30'000);
      EXPECT_GT(number(), last);
    }
  }
}

// A waiter has 2 s to confirm that it is alive.
// Promise: S1, L1
TEST_F(RedisNumbers, AheadOfTheClockDoNotProlongAHandOver) {
  RedisTalk hears = listen("b");
  for (const std::uint64_t last : last_numbers()) {
    for (const bool looks_at_other_keys : {false, true}) {
      ASSERT_NO_FATAL_FAILURE(hold_with(last));
      if (looks_at_other_keys) set("max_grant", "1");
      const RedisAnswer answer = call(redis::scripts::release, releasing(hold()));
      ASSERT_EQ(word_of(answer), "released");
      ASSERT_TRUE(holds('b'));
      expect_lease(answer, 2'000);
    }
    ASSERT_NO_FATAL_FAILURE(hold_with(last));
    lapse();
    const RedisAnswer tried =
        call(redis::scripts::acquire, asking(attempt('z'), {.waits = false}, 'w'));
    ASSERT_EQ(word_of(tried), "busy");
    ASSERT_TRUE(holds('b'));
    expect_lease(tried, 2'000);
    ASSERT_NO_FATAL_FAILURE(hold_with(last));
    const RedisAnswer forced = call(redis::scripts::force_release, {hold().number, life_of_next});
    ASSERT_EQ(word_of(forced), "released");
    ASSERT_TRUE(holds('b'));
    expect_lease(forced, 2'000);
  }
}

// Promise: S1, L1
TEST_F(RedisNumbers, AheadOfTheClockDoNotProlongASuccessor) {
  for (const std::uint64_t last : last_numbers()) {
    server().talk().expect_ok({"DEL", at_});
    ASSERT_EQ(acquire('a', {.lease = 24 * hour}), "granted");
    set("grant", std::to_string(last));
    RedisTalk::Command words = releasing(hold());
    const RedisTalk::Command successor = asking(attempt('b'), {}, 'w');
    words.insert(words.end(), successor.begin(), successor.end());
    const RedisAnswer answer = call(redis::scripts::release, words);
    ASSERT_EQ(word_of(answer), "released");
    ASSERT_EQ(word_of(answer.items.at(2)), "granted");
    ASSERT_TRUE(holds('b'));
    expect_lease(answer, 30'000);
  }
}

// Promise: S1, L1
TEST_F(RedisNumbers, DoNotMoveTheEndOfARenewedLease) {
  for (const std::uint64_t its : last_numbers()) {
    server().talk().expect_ok({"DEL", at_});
    ASSERT_EQ(acquire('a', {.lease = 24 * hour}), "granted");
    set("grant", std::to_string(its));
    const RedisAnswer answer =
        call(redis::scripts::renew, {"", attempt('a'), hold().number, "40000", "3640000"});
    ASSERT_EQ(answer.items.at(2).integer, 1);
    expect_lease(answer, 40'000);
  }
}

// The lease of 'a' would count from the reader's number.
// Promise: L1
TEST_F(RedisNumbers, OfAReaderDoNotReviveALapsedHold) {
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_NO_FATAL_FAILURE(outlast());
  ASSERT_EQ(word_of(read('b')), "granted");
  EXPECT_FALSE(holds('a'));
  EXPECT_EQ(word_of(read('c')), "granted") << "beside 'b'";
  for (const char reader : {'b', 'c'}) {
    const std::string its =
        server().talk().expect_ok({"HGET", at_ + ":reader_info", attempt(reader)}).text;
    ASSERT_EQ(release_of({attempt(reader), its}), "released");
  }
  expect_over();
}

// Promise: L1
TEST_F(RedisNumbers, OfAReleaseByForceDoNotReviveALapsedHold) {
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_EQ(word_of(read('b', attempt('a'))), "granted") << "beside its own client's hold";
  ASSERT_NO_FATAL_FAILURE(outlast());
  const std::string its =
      server().talk().expect_ok({"HGET", at_ + ":reader_info", attempt('b')}).text;
  ASSERT_EQ(force(its), "released");
  ASSERT_GT(number(), std::stoull(its));
  expect_over();
}

// Promise: L1
TEST_F(RedisNumbers, OfAReleaseByForceOfRedissonDoNotReviveALapsedHold) {
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_NO_FATAL_FAILURE(outlast());
  const std::string theirs = "5e1f0000-0000-4000-8000-100000000001:1";
  server().talk().expect_ok({"HSET", "a", theirs, "1"});
  const std::uint64_t before = number();
  ASSERT_EQ(force("-" + std::to_string(before) + " " + theirs, true), "released");
  ASSERT_GT(number(), before);
  expect_over();
}

// Promise: L1
TEST_F(RedisNumbers, OfAReleaseByForceDoNotReviveItsHold) {
  ASSERT_NO_FATAL_FAILURE(hold_ahead());
  ASSERT_EQ(cancel('b'), "busy");
  ASSERT_EQ(force_holder(), "released");
  ASSERT_EQ(number(), ahead + 1);
  expect_over();
}

TEST_F(RedisNumbers, AreThoseOfTheHandOverThatIsTold) {
  RedisTalk hears = listen("b");
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_EQ(acquire('b'), "queued");
  const std::uint64_t before = number();
  ASSERT_EQ(release(), "released");
  EXPECT_GT(number(), before);
  expect_told(hears, number());
}

}  // namespace
}  // namespace mortise::fault
