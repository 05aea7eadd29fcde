// SPDX-License-Identifier: MIT
// Goal: whatever time a user gives can be added to a moment and handed to poll(2). Method: the
// ends of the types, and one step beyond what fits.
#include "base/span.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace mortise::base {
namespace {

using namespace std::chrono_literals;

TEST(Span, OfAWaitIsNeverNegativeNorTooLongForAMoment) {
  EXPECT_EQ(bounded_wait(250ms), 250ms);
  EXPECT_EQ(bounded_wait(-1ms), 0ms);
  EXPECT_EQ(bounded_wait(std::chrono::hours(-3'000'000)), 0ms);
  EXPECT_EQ(bounded_wait(std::chrono::milliseconds::min()), 0ms);
  EXPECT_EQ(bounded_wait(std::chrono::milliseconds::max()), longest_span);
  const auto now = std::chrono::steady_clock::now();
  EXPECT_GT(now + bounded_wait(std::chrono::milliseconds::max()), now);
}

TEST(Span, OfAPollIsRoundedUpAndFitsAnInt) {
  EXPECT_EQ(poll_time(0ns), 0);
  EXPECT_EQ(poll_time(-5ms), 0);
  EXPECT_EQ(poll_time(1ns), 1) << "would spin";
  EXPECT_EQ(poll_time(20ms), 20);
  EXPECT_EQ(poll_time(std::chrono::hours(24 * 30)), 3'600'000);
  EXPECT_EQ(poll_time(std::chrono::nanoseconds::max()), 3'600'000);
}

}  // namespace
}  // namespace mortise::base
