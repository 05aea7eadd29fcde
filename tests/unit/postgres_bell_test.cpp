// SPDX-License-Identifier: MIT
// Goal: one request at a time tells of freed names, and none of them is forgotten. Method: the bell
// alone.
#include "postgres/bell.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mortise::postgres {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PostgresBell, TellsAtOnceWhereNothingIsUnderWay) {
  Bell bell;
  EXPECT_THAT(bell.freed("a"), ElementsAre("a"));
  EXPECT_THAT(bell.told(), IsEmpty());
  EXPECT_THAT(bell.freed("b"), ElementsAre("b"));
}

TEST(PostgresBell, TellsTogetherOfWhatWasFreedMeanwhileAndOfEachNameOnce) {
  Bell bell;
  EXPECT_THAT(bell.freed("a"), ElementsAre("a"));
  EXPECT_THAT(bell.freed("b"), IsEmpty());
  EXPECT_THAT(bell.freed("a"), IsEmpty());
  EXPECT_THAT(bell.freed("b"), IsEmpty());
  EXPECT_THAT(bell.told(), ElementsAre("a", "b"));
  EXPECT_THAT(bell.told(), IsEmpty());
}

// There was no memory for the request: nobody is told by it, and no answer to it comes.
TEST(PostgresBell, TellsWithTheNextWhereARequestCouldNotBeMade) {
  Bell bell;
  const Bell::Names names = bell.freed("a");
  EXPECT_THAT(bell.freed("b"), IsEmpty());
  bell.lost(names);
  EXPECT_THAT(bell.freed("c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(bell.told(), IsEmpty());
}

TEST(PostgresBell, HasABoundForOneRequest) {
  Bell bell;
  EXPECT_EQ(bell.freed("first").size(), 1U);
  for (int i = 0; i < 300; ++i) EXPECT_THAT(bell.freed(std::to_string(i)), IsEmpty());
  const std::size_t first = bell.told().size();
  EXPECT_LT(first, 300U);
  EXPECT_EQ(first + bell.told().size(), 300U);
  EXPECT_THAT(bell.told(), IsEmpty());
}

}  // namespace
}  // namespace mortise::postgres
