// SPDX-License-Identifier: MIT
// Goal: a time that does not fit into an option becomes the longest or the shortest one, and no
// other time changes.
#include <mortise/options.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace mortise {
namespace {

using namespace std::chrono_literals;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

using Wait = TimeOption<nanoseconds>;
using Lease = TimeOption<milliseconds>;

TEST(Durations, ThatFitStayAsTheyAre) {
  EXPECT_EQ(nanoseconds(Wait(2s)), 2s);
  EXPECT_EQ(nanoseconds(Wait(-1ns)), -1ns);
  EXPECT_EQ(nanoseconds(Wait(hours(24 * 365 * 290))), hours(24 * 365 * 290));
  EXPECT_EQ(nanoseconds(Wait(forever)), forever);
  EXPECT_EQ(milliseconds(Lease(24h)), 24h);
  EXPECT_EQ(milliseconds(Lease(hours(24 * 365 * 1000))), hours(24 * 365 * 1000));
}

TEST(Durations, ThatDoNotFitBecomeTheLongestOnes) {
  EXPECT_EQ(nanoseconds(Wait(milliseconds::max())), forever);
  EXPECT_EQ(nanoseconds(Wait(hours::max())), forever);
  EXPECT_EQ(nanoseconds(Wait(std::chrono::years(300))), forever);
  EXPECT_EQ(nanoseconds(Wait(hours::min())), nanoseconds::min());
  EXPECT_EQ(milliseconds(Lease(hours(std::int64_t{1} << 62U))), milliseconds::max());
  static_assert(milliseconds(Lease(hours::max())) == milliseconds::max());
}

}  // namespace
}  // namespace mortise
