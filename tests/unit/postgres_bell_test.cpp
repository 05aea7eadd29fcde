// SPDX-License-Identifier: MIT
// Goal: one request at a time tells of freed names, and none of them is forgotten. Method: the bell
// alone.
#include "postgres/bell.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace mortise::postgres {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Freed lock(std::string name) { return {.mode = Mode::exclusive, .name = std::move(name)}; }
Freed key(std::string name) { return {.mode = Mode::once, .name = std::move(name)}; }

TEST(PostgresBell, TellsAtOnceWhereNothingIsUnderWay) {
  Bell bell;
  EXPECT_THAT(bell.freed(lock("a")), ElementsAre(lock("a")));
  EXPECT_THAT(bell.told(), IsEmpty());
  EXPECT_THAT(bell.freed(lock("b")), ElementsAre(lock("b")));
}

TEST(PostgresBell, TellsTogetherOfWhatWasFreedMeanwhileAndOfEachNameOnce) {
  Bell bell;
  EXPECT_THAT(bell.freed(lock("a")), ElementsAre(lock("a")));
  EXPECT_THAT(bell.freed(lock("b")), IsEmpty());
  EXPECT_THAT(bell.freed(lock("a")), IsEmpty());
  EXPECT_THAT(bell.freed(lock("b")), IsEmpty());
  EXPECT_THAT(bell.told(), ElementsAre(lock("a"), lock("b")));
  EXPECT_THAT(bell.told(), IsEmpty());
}

TEST(PostgresBell, KeepsAKeyApartFromTheLockOfThatName) {
  Bell bell;
  EXPECT_THAT(bell.freed(lock("a")), ElementsAre(lock("a")));
  EXPECT_THAT(bell.freed(key("a")), IsEmpty());
  EXPECT_THAT(bell.freed(lock("a")), IsEmpty());
  EXPECT_THAT(bell.told(), ElementsAre(lock("a"), key("a")));
}

// There was no memory for the request: nobody is told by it, and no answer to it comes.
TEST(PostgresBell, TellsWithTheNextWhereARequestCouldNotBeMade) {
  Bell bell;
  const Bell::Names names = bell.freed(lock("a"));
  EXPECT_THAT(bell.freed(lock("b")), IsEmpty());
  bell.lost(names);
  EXPECT_THAT(bell.freed(lock("c")), ElementsAre(lock("a"), lock("b"), lock("c")));
  EXPECT_THAT(bell.told(), IsEmpty());
}

TEST(PostgresBell, HasABoundForOneRequest) {
  Bell bell;
  EXPECT_EQ(bell.freed(lock("first")).size(), 1U);
  for (int i = 0; i < 300; ++i) EXPECT_THAT(bell.freed(lock(std::to_string(i))), IsEmpty());
  const std::size_t first = bell.told().size();
  EXPECT_LT(first, 300U);
  EXPECT_EQ(first + bell.told().size(), 300U);
  EXPECT_THAT(bell.told(), IsEmpty());
}

}  // namespace
}  // namespace mortise::postgres
