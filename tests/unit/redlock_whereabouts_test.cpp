// SPDX-License-Identifier: MIT
// Goal: two addresses are said to be one server as long as their connections say so, and no longer.
// Method: addresses that come and go, and a clock that is set.
#include "redlock/whereabouts.hpp"

#include <gtest/gtest.h>

namespace mortise::redlock {
namespace {

using namespace std::chrono_literals;

class RedlockWhereabouts : public testing::Test {
 protected:
  void arrive(std::size_t address, const char* run_id) {
    whereabouts.arrived(address, run_id, now);
  }
  [[nodiscard]] bool are_twins() const { return whereabouts.twins(now).has_value(); }

  Instant now{1h};
  Whereabouts whereabouts{3};
};

TEST_F(RedlockWhereabouts, ThreeServersAreThree) {
  arrive(0, "a");
  arrive(1, "b");
  arrive(2, "c");
  EXPECT_TRUE(whereabouts.clear());
  EXPECT_FALSE(are_twins());
  EXPECT_EQ(whereabouts.doubt(now + 1h), 0U);
}

TEST_F(RedlockWhereabouts, TwoConnectionsOfLateTellOfTwins) {
  arrive(0, "a");
  now += news_for;
  arrive(2, "a");
  EXPECT_FALSE(whereabouts.clear());
  EXPECT_EQ(whereabouts.doubt(now), 0U);
  EXPECT_EQ(whereabouts.twins(now), Whereabouts::Twins(0, 2));
}

// It may have broken, or its address may lead elsewhere, and nobody has looked.
TEST_F(RedlockWhereabouts, AnOldConnectionPutsItsAddressInDoubt) {
  arrive(0, "a");
  now += news_for + 1ms;
  arrive(2, "a");
  EXPECT_FALSE(are_twins());
  EXPECT_EQ(whereabouts.doubt(now), only(0));
  EXPECT_EQ(whereabouts.doubt(now), 0U) << "it is connected anew already";
  EXPECT_FALSE(are_twins());
  EXPECT_FALSE(whereabouts.clear());
}

TEST_F(RedlockWhereabouts, ADoubtEndsWhereTheAddressLeadsToItsOwnServer) {
  arrive(0, "a");
  now += 1h;
  arrive(2, "a");
  EXPECT_EQ(whereabouts.doubt(now), only(0));
  EXPECT_FALSE(whereabouts.left(0, true));
  EXPECT_FALSE(whereabouts.clear());
  EXPECT_TRUE(whereabouts.in_doubt(0));
  arrive(0, "b");
  EXPECT_TRUE(whereabouts.clear());
  EXPECT_FALSE(whereabouts.in_doubt(0));
}

TEST_F(RedlockWhereabouts, ADoubtEndsWhereTheAddressLeadsToTheSameServerStill) {
  arrive(0, "a");
  now += 1h;
  arrive(2, "a");
  EXPECT_EQ(whereabouts.doubt(now), only(0));
  EXPECT_FALSE(whereabouts.left(0, true));
  arrive(0, "a");
  EXPECT_TRUE(are_twins());
}

TEST_F(RedlockWhereabouts, ADoubtEndsWhereTheAddressCanNotBeReached) {
  arrive(0, "a");
  now += 1h;
  arrive(2, "a");
  EXPECT_EQ(whereabouts.doubt(now), only(0));
  EXPECT_FALSE(whereabouts.left(0, true));
  EXPECT_TRUE(whereabouts.left(0, false));
  EXPECT_TRUE(whereabouts.clear());
}

TEST_F(RedlockWhereabouts, WhatWasFoundIsToldAsLongAsItIsNews) {
  arrive(0, "a");
  arrive(2, "a");
  EXPECT_TRUE(are_twins());
  now += news_for + 1ms;
  EXPECT_FALSE(are_twins());
  EXPECT_EQ(whereabouts.doubt(now), only(0) | only(2));
  EXPECT_FALSE(whereabouts.left(0, true));
  arrive(0, "a");
  EXPECT_FALSE(are_twins()) << "one of them has yet to say";
  EXPECT_FALSE(whereabouts.left(2, true));
  arrive(2, "c");
  EXPECT_TRUE(whereabouts.clear());
}

// What is owed by it is not to be paid with the other's server in between.
TEST_F(RedlockWhereabouts, WhatIsConnectedAnewIsAstrayUntilItHasArrived) {
  arrive(0, "a");
  arrive(2, "a");
  whereabouts.distrust(only(0) | only(2));
  EXPECT_FALSE(are_twins());
  EXPECT_FALSE(whereabouts.left(0, true));
  EXPECT_FALSE(whereabouts.left(2, true));
  arrive(2, "a");
  EXPECT_TRUE(whereabouts.astray(2));
  arrive(0, "b");
  EXPECT_FALSE(whereabouts.astray(2));
  EXPECT_TRUE(whereabouts.clear());
}

TEST_F(RedlockWhereabouts, WhatIsNotConnectedLeadsNowhere) {
  arrive(0, "a");
  arrive(2, "a");
  EXPECT_TRUE(whereabouts.left(2, true));
  EXPECT_FALSE(are_twins());
  EXPECT_FALSE(whereabouts.left(2, false));
}

}  // namespace
}  // namespace mortise::redlock
