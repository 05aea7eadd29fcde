// SPDX-License-Identifier: MIT
// Goal: each way to get a lock gives a number above the last one, although the server's clock has
// stepped back (S2), and whoever is told of a grant is told that number. Method: scripts on a lock
// whose last owner came when the clock was decades ahead.
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
};

// Promise: S2
TEST_F(RedisNumbers, GrowOverAReleaseWhenTheClockSteppedBack) {
  for (const char order : {'f', 'u'}) {
    ASSERT_EQ(acquire('a'), "granted");
    ASSERT_EQ(release(), "freed");
    set_ahead('a');
    ASSERT_EQ(acquire('b', {.order = order}), "granted");
    EXPECT_EQ(number(), ahead + 1) << order;
    ASSERT_EQ(release(), "freed");
  }
}

// Promise: S2
TEST_F(RedisNumbers, GrowOverAHandOverWhenTheClockSteppedBack) {
  RedisTalk hears = listen("b");
  ASSERT_NO_FATAL_FAILURE(hold_ahead());
  ASSERT_EQ(release(), "freed");
  EXPECT_TRUE(holds('b'));
  EXPECT_EQ(number(), ahead + 1);
  expect_told(hears, ahead + 1);
}

// A reader beside the owner had the largest number, and has let go.
// Promise: S2
TEST_F(RedisNumbers, GrowOverThatOfAReaderBesideTheOwner) {
  ASSERT_EQ(acquire('a'), "granted");
  set("crowd", "0");
  set("last", std::to_string(ahead));
  ASSERT_EQ(acquire('b', {.waits = false}), "busy");
  ASSERT_EQ(release(), "freed");
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
  ASSERT_EQ(force_holder(), "freed");
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
  set("number", std::to_string(number() + 60'000'000));  // from which the lease counts
  proxy.refuse(false);
  ASSERT_TRUE(comes(locked));
  const auto valid = locked.get();
  EXPECT_GT(valid, 1s);
  EXPECT_LE(valid, 5s);
}

TEST_F(RedisNumbers, AreThoseOfTheHandOverThatIsTold) {
  RedisTalk hears = listen("b");
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_EQ(acquire('b'), "queued");
  const std::uint64_t before = number();
  ASSERT_EQ(release(), "freed");
  EXPECT_GT(number(), before);
  expect_told(hears, number());
}

}  // namespace
}  // namespace mortise::fault
