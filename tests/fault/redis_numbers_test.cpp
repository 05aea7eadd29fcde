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
    ASSERT_TRUE(acquire('a').starts_with("G"));
    set_ahead('a');
    ASSERT_TRUE(acquire('b').starts_with("Q"));
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
  for (const char* const flags : {"f01", "u01"}) {
    ASSERT_TRUE(acquire('a').starts_with("G"));
    ASSERT_EQ(release(), "F");
    set_ahead('a');
    ASSERT_TRUE(acquire('b', {.flags = flags}).starts_with("G"));
    EXPECT_EQ(number(), ahead + 1) << flags;
    ASSERT_EQ(release(), "F");
  }
}

// Promise: S2
TEST_F(RedisNumbers, GrowOverAHandOverWhenTheClockSteppedBack) {
  RedisTalk hears = listen("b");
  ASSERT_NO_FATAL_FAILURE(hold_ahead());
  ASSERT_EQ(release(), "F");
  EXPECT_TRUE(holds('b'));
  EXPECT_EQ(number(), ahead + 1);
  expect_told(hears, ahead + 1);
}

TEST_F(RedisNumbers, GrowOverALapsedHoldWhenTheClockSteppedBack) {
  RedisTalk hears = listen("b");
  ASSERT_NO_FATAL_FAILURE(hold_ahead());
  lapse();
  ASSERT_EQ(renew(hold()), "0");
  EXPECT_TRUE(holds('b'));
  EXPECT_EQ(number(), ahead + 1);
  expect_told(hears, ahead + 1);
}

TEST_F(RedisNumbers, GrowTwiceOverAReleaseByForceWhenTheClockSteppedBack) {
  RedisTalk hears = listen("b");
  ASSERT_NO_FATAL_FAILURE(hold_ahead());
  const std::string hold = this->hold();
  ASSERT_TRUE(force().starts_with("O"));
  EXPECT_TRUE(holds('b'));
  EXPECT_EQ(number(), ahead + 2);
  expect_told(hears, ahead + 2);
  EXPECT_EQ(renew(hold), "0");
}

// The hold lasts for so much longer, and whoever asks again is told of no more than it may ask for.
TEST_F(RedisNumbers, GoWithNoLongerLeaseThanThereIsWhenTheClockSteppedBack) {
  constexpr std::int64_t longest = 24 * hour;
  const Ask ask{.lease = longest};
  ASSERT_TRUE(acquire('a', ask).starts_with("G"));
  set("o", hold_text(attempt('a'), number() + 3'000'000) + "label");
  const std::string told = acquire('a', ask);
  const auto answer = redis::Answer::parse(told);
  ASSERT_TRUE(answer) << told;
  EXPECT_EQ(answer->lease, std::chrono::milliseconds(longest));
}

// Its first renewal moves the end of such a hold to where it belongs, and the next one may have it
// from then on.
// Promise: S1
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
  const std::string owner = hold();
  const std::size_t from = owner.find(' ') + 1;
  const std::string attempt = owner.substr(from, owner.find(' ', from) - from);
  set("o", hold_text(attempt, number() + 60'000'000));
  proxy.refuse(false);
  ASSERT_TRUE(comes(locked));
  const auto valid = locked.get();
  EXPECT_GT(valid, 1s);
  EXPECT_LE(valid, 5s);
}

TEST_F(RedisNumbers, AreThoseOfTheHandOverThatIsTold) {
  RedisTalk hears = listen("b");
  ASSERT_TRUE(acquire('a').starts_with("G"));
  ASSERT_TRUE(acquire('b').starts_with("Q"));
  const std::uint64_t before = number();
  ASSERT_EQ(release(), "F");
  EXPECT_GT(number(), before);
  expect_told(hears, number());
}

}  // namespace
}  // namespace mortise::fault
