// SPDX-License-Identifier: MIT
// Goal: a hand-over, a cancelled wait and a reader take the same time among 100 and among 100,000
// callers of one client (L5). Method: the CPU time of each, in a small and in a large crowd.
#include "support/crowd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

namespace mortise::core {
namespace {

using Step = void (test::Crowd::*)();

/// @return the CPU time of one step; the least of several rounds, because the machine is shared.
double time_of_one(Step step, std::size_t callers, Mode mode) {
  test::Crowd crowd(callers, mode);
  constexpr int steps = 20'000;
  double least = 1e9;
  for (int round = 0; round < 5; ++round) {
    const std::clock_t began = std::clock();
    for (int i = 0; i < steps; ++i) (crowd.*step)();
    least = std::min(least, static_cast<double>(std::clock() - began) / steps);
  }
  return least;
}

// A scan of the crowd takes a thousand times as long. Memory that is not in the cache takes some
// times as long.
void expect_no_scan(Step step, Mode mode = Mode::exclusive) {
  const double in_a_small_crowd = time_of_one(step, 100, mode);
  EXPECT_LT(time_of_one(step, 100'000, mode), 100 * in_a_small_crowd);
}

TEST(NameStateCrowd, AHandOverTakesNoLonger) { expect_no_scan(&test::Crowd::hand_over); }

TEST(NameStateCrowd, ACancelledWaitTakesNoLonger) { expect_no_scan(&test::Crowd::cancel); }

TEST(NameStateCrowd, AReaderTakesNoLonger) { expect_no_scan(&test::Crowd::share, Mode::shared); }

}  // namespace
}  // namespace mortise::core
