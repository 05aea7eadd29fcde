// SPDX-License-Identifier: MIT
// Goal: what is to be done at a moment is done once, then, and whoever sleeps until the next moment
// knows when an earlier one comes. Method: the classes alone, by moments of the test's own.
#include "remote/timer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

constexpr Instant start{100s};

TEST(RemoteMoment, IsNeverUntilItIsSet) {
  Moment moment;
  EXPECT_EQ(moment.get(), never);
  EXPECT_FALSE(moment.take(start));
  EXPECT_TRUE(moment.set(start));
  EXPECT_EQ(moment.get(), start);
}

TEST(RemoteMoment, TellsWhetherItIsEarlierThanBefore) {
  Moment moment;
  EXPECT_TRUE(moment.set(start + 2s));
  EXPECT_FALSE(moment.set(start + 3s));
  EXPECT_EQ(moment.get(), start + 3s);
  EXPECT_FALSE(moment.bring_forward(start + 4s));
  EXPECT_FALSE(moment.bring_forward(start + 3s));
  EXPECT_EQ(moment.get(), start + 3s);
  EXPECT_TRUE(moment.bring_forward(start + 1s));
  EXPECT_EQ(moment.get(), start + 1s);
}

TEST(RemoteMoment, ThatIsSetIsKeptByWhoOnlyNeedsOne) {
  Moment moment;
  EXPECT_TRUE(moment.set_if_never(start + 2s));
  EXPECT_FALSE(moment.set_if_never(start + 1s));
  EXPECT_EQ(moment.get(), start + 2s);
}

TEST(RemoteMoment, IsTakenOnce) {
  Moment moment;
  moment.set(start);
  EXPECT_FALSE(moment.take(start - 1ns));
  EXPECT_TRUE(moment.take(start));
  EXPECT_FALSE(moment.take(start + 1h));
  EXPECT_EQ(moment.get(), never);
}

using Words = std::vector<std::string>;

TEST(RemoteTimer, GivesWhatIsDueInTheOrderOfItsMoments) {
  Timer<std::string> timer;
  EXPECT_EQ(timer.next(), never);
  EXPECT_TRUE(timer.is_next(timer.add(start + 2s, "second")));
  EXPECT_FALSE(timer.is_next(timer.add(start + 3s, "third")));
  EXPECT_TRUE(timer.is_next(timer.add(start + 1s, "first")));
  EXPECT_EQ(timer.next(), start + 1s);
  EXPECT_EQ(timer.take(start), Words());
  EXPECT_EQ(timer.take(start + 2s), (Words{"first", "second"}));
  EXPECT_EQ(timer.next(), start + 3s);
  EXPECT_EQ(timer.take(start + 2s), Words()) << "each is given once";
  EXPECT_EQ(timer.take(start + 1h), (Words{"third"}));
  EXPECT_EQ(timer.next(), never);
}

TEST(RemoteTimer, WhatIsRemovedIsNotGiven) {
  Timer<std::string> timer;
  const auto first = timer.add(start + 1s, "first");
  timer.add(start + 2s, "second");
  timer.remove(first);
  EXPECT_EQ(timer.next(), start + 2s);
  EXPECT_EQ(timer.take(start + 1h), (Words{"second"}));
}

}  // namespace
}  // namespace mortise::remote
