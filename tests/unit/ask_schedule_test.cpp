// SPDX-License-Identifier: MIT
// Goal: pending requests are asked again at the right times (L2, S5), without a storm after an
// outage. Method: the test owns the time.
#include "core/ask_schedule.hpp"

#include <gtest/gtest.h>

#include <set>

namespace mortise::core {
namespace {

using namespace std::chrono_literals;
using Progress = Acquisition::Progress;

constexpr Instant beginning{1h};

// Promise: L2
TEST(AskScheduleTest, AQueuedWaiterAsksEachFallbackPeriod) {
  const AskSchedule schedule(30s, beginning, 1);
  EXPECT_EQ(schedule.next(Progress::queued, false), beginning + fallback_period);
}

TEST(AskScheduleTest, AnUnansweredRequestIsRepeatedAfterACommandTimeout) {
  EXPECT_EQ(AskSchedule(30s, beginning, 1).next(Progress::sent, false), beginning + 1s);
  EXPECT_EQ(AskSchedule(600ms, beginning, 1).next(Progress::sent, false), beginning + 100ms);
}

TEST(AskScheduleTest, TroubleIsRetriedWithGrowingJitteredPauses) {
  AskSchedule schedule(30s, beginning, 1);
  Instant now = beginning;
  Nanos last{};
  for (int i = 0; i < 20; ++i) {
    const Instant again = schedule.next(Progress::unsent, true);
    last = again - now;
    EXPECT_GE(last, 10ms);
    EXPECT_LE(last, fallback_period);
    now = again;
    schedule.asked(now, true);
  }
  EXPECT_GE(last, fallback_period / 2);
}

TEST(AskScheduleTest, ClientsDoNotComeBackTogether) {
  std::set<Instant> moments;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    AskSchedule schedule(30s, beginning, seed);
    schedule.asked(beginning, true);
    moments.insert(schedule.next(Progress::unsent, true));
  }
  EXPECT_GT(moments.size(), 90U);
}

}  // namespace
}  // namespace mortise::core
