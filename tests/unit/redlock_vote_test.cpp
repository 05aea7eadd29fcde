// SPDX-License-Identifier: MIT
// Goal: what a server answers is a vote, or tells who has it, and nothing else is taken for either.
// Method: answers as the scripts give them, and such with a part that is wrong.
#include "core/figures.hpp"
#include "redlock/vote.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::redlock {
namespace {

TEST(RedlockVoteTest, IsANumberAndNothingElse) {
  EXPECT_EQ(vote_number("G 17"), 17U);
  for (const char* const each : {"", "G", "G ", "G 0", "G 17 ", "G -1", "G 1x", "B 17", "g 17"}) {
    EXPECT_FALSE(vote_number(each)) << each;
  }
  EXPECT_FALSE(vote_number("G " + std::to_string(core::grant_number_limit)));
}

TEST(RedlockVoteTest, AnOwnerIsToldByItsNumber) {
  const auto told = Told::parse("B 1000 500 0 7 2 label of it");
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->names(7));
  EXPECT_FALSE(told->names(8));
  EXPECT_TRUE(told->numbers.empty());
  EXPECT_EQ(told->answer.label, "label of it");
  EXPECT_EQ(told->answer.holder_mode, Mode::exclusive);
}

TEST(RedlockVoteTest, ReadersAreToldByTheirNumbers) {
  const auto told = Told::parse("V 7,9 B 1000 500 0 *11 7 2 label");
  ASSERT_TRUE(told);
  for (const std::uint64_t each : {7U, 9U}) EXPECT_TRUE(told->names(each)) << each;
  EXPECT_FALSE(told->names(11)) << "the last number that was given, perhaps to nobody who reads";
  EXPECT_EQ(told->answer.holder_number, 7U);
  EXPECT_EQ(told->answer.holder_mode, Mode::shared);
  const auto beside = Told::parse("V 5,9 B 1000 500 0 5 2 label");
  ASSERT_TRUE(beside);
  EXPECT_TRUE(beside->names(5) && beside->names(9));
  EXPECT_EQ(beside->answer.holder_mode, Mode::exclusive);
}

TEST(RedlockVoteTest, WhatIsNoSuchAnswerIsNotBelieved) {
  for (const char* const each :
       {"V B 1000 500 0 *11 7 2 ", "V 7", "V 7,9", "V 7, B 1000 500 0 *11 7 2 ",
        "V ,7 B 1000 500 0 *11 7 2 ", "V 7,x B 1000 500 0 *11 7 2 ", "V 0 B 1000 500 0 *11 7 2 ",
        "V 1,2,3,4,5,6,7,8,9,10 B 1000 500 0 *11 7 2 ", "V 7 V 7 B 1000 500 0 *11 7 2 ",
        "V 7 X 1000 500 0 *11 7 2 ", "V 7 B 1000 500 0 *11 0 2 "}) {
    EXPECT_FALSE(Told::parse(each)) << each;
  }
}

}  // namespace
}  // namespace mortise::redlock
