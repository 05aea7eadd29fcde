// SPDX-License-Identifier: MIT
// Goal: what is to be done at a moment is done once, then, and whoever sleeps until the next moment
// knows when an earlier one comes. Method: the classes alone, by moments of the test's own.
#include "remote/timer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

constexpr Instant noon{100s};

TEST(RemoteMoment, IsNeverUntilItIsSet) {
  Moment moment;
  EXPECT_EQ(moment.get(), never);
  EXPECT_FALSE(moment.take(noon));
  EXPECT_TRUE(moment.set(noon));
  EXPECT_EQ(moment.get(), noon);
}

TEST(RemoteMoment, TellsWhetherItIsEarlierThanBefore) {
  Moment moment;
  EXPECT_TRUE(moment.set(noon + 2s));
  EXPECT_FALSE(moment.set(noon + 3s));
  EXPECT_EQ(moment.get(), noon + 3s);
  EXPECT_FALSE(moment.bring_forward(noon + 4s));
  EXPECT_FALSE(moment.bring_forward(noon + 3s));
  EXPECT_EQ(moment.get(), noon + 3s);
  EXPECT_TRUE(moment.bring_forward(noon + 1s));
  EXPECT_EQ(moment.get(), noon + 1s);
}

TEST(RemoteMoment, ThatIsSetIsKeptByWhoOnlyNeedsOne) {
  Moment moment;
  EXPECT_TRUE(moment.set_if_never(noon + 2s));
  EXPECT_FALSE(moment.set_if_never(noon + 1s));
  EXPECT_EQ(moment.get(), noon + 2s);
}

TEST(RemoteMoment, IsTakenOnce) {
  Moment moment;
  moment.set(noon);
  EXPECT_FALSE(moment.take(noon - 1ns));
  EXPECT_TRUE(moment.take(noon));
  EXPECT_FALSE(moment.take(noon + 1h));
  EXPECT_EQ(moment.get(), never);
}

using Words = std::vector<std::string>;

TEST(RemoteTimer, GivesWhatIsDueInTheOrderOfItsMoments) {
  Timer<std::string> timer;
  EXPECT_EQ(timer.next(), never);
  EXPECT_TRUE(timer.is_next(timer.add(noon + 2s, "second")));
  EXPECT_FALSE(timer.is_next(timer.add(noon + 3s, "third")));
  EXPECT_TRUE(timer.is_next(timer.add(noon + 1s, "first")));
  EXPECT_EQ(timer.next(), noon + 1s);
  EXPECT_EQ(timer.take(noon), Words());
  EXPECT_EQ(timer.take(noon + 2s), (Words{"first", "second"}));
  EXPECT_EQ(timer.next(), noon + 3s);
  EXPECT_EQ(timer.take(noon + 2s), Words()) << "each is given once";
  EXPECT_EQ(timer.take(noon + 1h), (Words{"third"}));
  EXPECT_EQ(timer.next(), never);
}

TEST(RemoteTimer, WhatIsRemovedIsNotGiven) {
  Timer<std::string> timer;
  const auto first = timer.add(noon + 1s, "first");
  timer.add(noon + 2s, "second");
  timer.remove(first);
  EXPECT_EQ(timer.next(), noon + 2s);
  EXPECT_EQ(timer.take(noon + 1h), (Words{"second"}));
}

}  // namespace
}  // namespace mortise::remote
