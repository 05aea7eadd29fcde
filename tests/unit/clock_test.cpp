// SPDX-License-Identifier: MIT
// Goal: a clock moved by hand moves only forward and wakes those who follow it.
#include <mortise/clock.hpp>

#include <gtest/gtest.h>

namespace mortise {
namespace {

using namespace std::chrono_literals;

TEST(ClockTest, TheManualClockMovesByHandOnly) {
  ManualClock clock;
  const Instant before = clock.now();
  EXPECT_EQ(clock.now(), before);
  clock.advance(5s);
  EXPECT_EQ(clock.now(), before + 5s);
  clock.advance(-1h);
  EXPECT_EQ(clock.now(), before + 5s);
}

TEST(ClockTest, StepsAreToldAsLongAsTheSubscriptionLives) {
  ManualClock clock;
  int steps = 0;
  std::shared_ptr<void> subscription = clock.on_step([&] { ++steps; });
  clock.advance(1s);
  EXPECT_EQ(steps, 1);
  subscription.reset();
  clock.advance(1s);
  EXPECT_EQ(steps, 1);
}

TEST(ClockTest, TheRealClockGrows) {
  const Instant before = Clock::real()->now();
  EXPECT_LE(before, BootClock::now());
}

}  // namespace
}  // namespace mortise
