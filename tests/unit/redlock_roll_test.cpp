// SPDX-License-Identifier: MIT
// Goal: of one quorum request the answers of a server count once, whatever addresses lead to it.
// Method: the record alone.
#include "redlock/roll.hpp"

#include <gtest/gtest.h>

namespace mortise::redlock {
namespace {

TEST(RedlockRoll, AServerThatTwoAddressesLeadToCountsOnce) {
  Roll roll;
  EXPECT_TRUE(roll.counts(0, 7));
  EXPECT_TRUE(roll.counts(1, 8));
  EXPECT_FALSE(roll.counts(2, 7));
  EXPECT_TRUE(roll.counts(2, 9));
}

TEST(RedlockRoll, AnAddressThatMovedHasCountedForTheServerThatItLedTo) {
  Roll roll;
  EXPECT_TRUE(roll.counts(0, 7));
  EXPECT_TRUE(roll.counts(0, 8));
  EXPECT_FALSE(roll.counts(1, 7));
  EXPECT_FALSE(roll.counts(1, 8));
}

TEST(RedlockRoll, AnAddressMayAnswerOnceMore) {
  Roll roll;
  EXPECT_TRUE(roll.counts(0, 7));
  EXPECT_TRUE(roll.counts(0, 7));
}

// Else a number would be noted by a server that has not voted by this address, and may have by
// another.
TEST(RedlockRoll, WhatAnswersNowIsWhatHasVoted) {
  Roll roll;
  EXPECT_TRUE(roll.counts(0, 7));
  EXPECT_TRUE(roll.counts(1, 8));
  EXPECT_TRUE(roll.counted(0, 7));
  EXPECT_FALSE(roll.counted(0, 8));
  EXPECT_FALSE(roll.counted(2, 7));
}

TEST(RedlockRoll, OfTheNextRequestNobodyHasAnswered) {
  Roll roll;
  EXPECT_TRUE(roll.counts(0, 7));
  roll.begin();
  EXPECT_FALSE(roll.counted(0, 7));
  EXPECT_TRUE(roll.counts(1, 7));
}

// A server that was started anew between two answers has another name, and one voice all the same.
TEST(RedlockRoll, WhatCameUpSinceTheRequestBeganIsANewcomer) {
  Roll roll;
  roll.begin();
  roll.connected(3);
  roll.connected(5);
  EXPECT_FALSE(roll.newcomer(0, 3));
  EXPECT_TRUE(roll.newcomer(1, 6));
  roll.begin();
  roll.connected(3);
  roll.connected(6);
  EXPECT_FALSE(roll.newcomer(1, 6));
}

// The number of the next connection is known before there is one.
TEST(RedlockRoll, WhereNoneWasUpWhatComesIsANewcomer) {
  Roll roll;
  roll.connected(0);
  EXPECT_TRUE(roll.newcomer(0, 1));
}

TEST(RedlockRoll, WhereConnectionsDoNotMatterNobodyIsANewcomer) {
  const Roll roll;
  EXPECT_FALSE(roll.newcomer(0, 9));
}

}  // namespace
}  // namespace mortise::redlock
