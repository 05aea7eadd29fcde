// SPDX-License-Identifier: MIT
// Goal: the bounds of the leader's time contain it, if both clocks run at nearly the same rate, and
// it is asked for again after ten minutes. Method: known writes; the time is given.
#include "unit/zookeeper_time.hpp"
#include "zookeeper/leaders_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace mortise::zookeeper {
namespace {

using namespace std::chrono_literals;

TEST(ZooKeeperLeadersClock, IsUnknownBeforeAWrite) {
  LeadersClock clock;
  EXPECT_EQ(clock.time(at(0ms)).least, 0);
  EXPECT_TRUE(clock.is_old(at(0ms)));
  clock.wrote(5'000, at(0ms), at(10ms));
  EXPECT_FALSE(clock.is_old(at(20ms)));
  clock.forget();
  EXPECT_EQ(clock.time(at(20ms)).least, 0);
  EXPECT_TRUE(clock.is_old(at(20ms)));
}

TEST(ZooKeeperLeadersClock, IsWithinItsBounds) {
  LeadersClock clock;
  clock.wrote(5'000'000, at(0ms), at(10ms));
  const LeadersTime then = clock.time(at(10ms));
  EXPECT_EQ(then.least, 5'000'000) << "it was written just before the answer";
  EXPECT_GE(then.most, 5'000'010) << "it was written right after the client asked";
  const LeadersTime later = clock.time(at(100s));
  EXPECT_LT(later.least, 5'099'990) << "our clock may be faster";
  EXPECT_GT(later.most, 5'100'000) << "it may be slower";
  EXPECT_LT(later.most - later.least, 5'000);
}

TEST(ZooKeeperLeadersClock, IsOldAfterTenMinutes) {
  LeadersClock clock;
  clock.wrote(5'000, at(0ms), at(10ms));
  EXPECT_FALSE(clock.is_old(at(600'000ms)));
  EXPECT_TRUE(clock.is_old(at(600'011ms)));
}

}  // namespace
}  // namespace mortise::zookeeper
