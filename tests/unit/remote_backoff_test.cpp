// SPDX-License-Identifier: MIT
// Goal: a server that comes back is found soon, one that stays away is asked ever less often, and
// its clients do not all come at one moment. Method: the function, with the random number given.
#include "remote/backoff.hpp"

#include <gtest/gtest.h>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

constexpr double least_random = 0.0;
constexpr double most_random = 0.999'999;

TEST(RemoteBackoff, WhatWasUpIsTriedAlmostAtOnce) {
  EXPECT_EQ(backoff(0, least_random), 0ns);
  EXPECT_LT(backoff(0, most_random), 10ms);
  EXPECT_GT(backoff(0, most_random), 9ms);
}

TEST(RemoteBackoff, DoublesUpToASecond) {
  std::chrono::nanoseconds step = 20ms;
  for (std::size_t failures = 1; failures <= 100; ++failures) {
    EXPECT_EQ(backoff(failures, least_random), step / 2) << failures;
    EXPECT_LT(backoff(failures, most_random), step) << failures;
    EXPECT_GT(backoff(failures, most_random), step - step / 1'000) << failures;
    step = std::min<std::chrono::nanoseconds>(step * 2, 1s);
  }
}

TEST(RemoteBackoff, OfSeveralServersDoublesWithEachRound) {
  EXPECT_EQ(backoff(0, least_random, 3), 0ns);
  EXPECT_EQ(backoff(1, least_random, 3), 5ms);
  EXPECT_EQ(backoff(3, least_random, 3), 10ms);
  EXPECT_EQ(backoff(5, least_random, 3), 10ms);
  EXPECT_EQ(backoff(6, least_random, 3), 20ms);
}

TEST(RemoteBackoff, ANewRequestWaitsATwentiethOfTheFailingTimeAndUpToHalfOfThatAgain) {
  EXPECT_EQ(pause_of_new_request(0s, most_random), 0ns);
  EXPECT_EQ(pause_of_new_request(2s, least_random), 100ms);
  EXPECT_LT(pause_of_new_request(2s, most_random), 150ms);
  EXPECT_GT(pause_of_new_request(2s, most_random), 149ms) << "clients come at several moments";
  EXPECT_EQ(pause_of_new_request(1h, least_random), 500ms);
  EXPECT_LT(pause_of_new_request(1h, most_random), 750ms);
}

}  // namespace
}  // namespace mortise::remote
