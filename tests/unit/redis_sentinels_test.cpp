// SPDX-License-Identifier: MIT
// Goal: of sentinels that differ the one is believed that knows more, and all of them are asked.
// Method: answers in every order that matters.
#include "redis/topology/sentinels.hpp"
#include "remote/link.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <set>

namespace mortise::redis {
namespace {

using ::testing::ElementsAre;

SentinelAnswer says(const char* host, std::uint64_t epoch) {
  return {.master = {.host = host, .port = 6379, .path = {}}, .epoch = epoch, .failure = {}};
}

TEST(RedisSentinelsTest, WhoIsBelievedIsAskedFirst) {
  Sentinels all(3);
  EXPECT_THAT(all.order(), ElementsAre(0, 1, 2));
  EXPECT_TRUE(all.believes(2, says("a", 0)));
  EXPECT_THAT(all.order(), ElementsAre(2, 0, 1));
  EXPECT_TRUE(all.believes(0, says("a", 0)));
  EXPECT_THAT(all.order(), ElementsAre(0, 2, 1));
}

TEST(RedisSentinelsTest, WhoMisledIsAskedLast) {
  Sentinels all(3);
  EXPECT_TRUE(all.believes(1, says("a", 0)));
  all.misled();
  EXPECT_THAT(all.order(), ElementsAre(0, 2, 1));
}

TEST(RedisSentinelsTest, AnOlderEpochIsBelievedOnlyWhereNobodyKnowsANewerOne) {
  Sentinels all(3);
  EXPECT_TRUE(all.believes(0, says("b", 5)));
  EXPECT_FALSE(all.believes(1, says("a", 4)));
  EXPECT_TRUE(all.believes(2, says("b", 5)));
  EXPECT_TRUE(all.believes(2, says("c", 6)));
  EXPECT_FALSE(all.believes(0, says("b", 5)));
  all.settle_for(0, says("b", 5));
  EXPECT_TRUE(all.believes(1, says("b", 5)));
}

TEST(RedisSentinelsTest, ANewerEpochNamesAnotherMasterAtOnce) {
  Sentinels all(3);
  EXPECT_FALSE(all.names_another(0, says("b", 9))) << "none is known that it could replace";
  EXPECT_TRUE(all.believes(0, says("a", 1)));
  EXPECT_FALSE(all.names_another(1, says("a", 1)));
  EXPECT_FALSE(all.names_another(1, says("a", 2))) << "the same one, after a try that failed";
  EXPECT_FALSE(all.believes(0, says("z", 1)));
  EXPECT_TRUE(all.names_another(1, says("b", 3)));
  EXPECT_THAT(all.order(), ElementsAre(1, 0, 2)) << "it knows";
  EXPECT_FALSE(all.believes(0, says("a", 2)));
  EXPECT_FALSE(all.names_another(2, says("a", 2)));
}

// By names in place of numbers, or by an administrator's hand.
TEST(RedisSentinelsTest, WithoutANewerEpochAllHaveToSayTheSameInARow) {
  Sentinels all(3);
  EXPECT_TRUE(all.believes(0, says("a", 4)));
  EXPECT_FALSE(all.names_another(1, says("b", 0)));
  EXPECT_FALSE(all.names_another(2, says("b", 0)));
  EXPECT_FALSE(all.names_another(0, says("a", 4))) << "one of them stays with it";
  EXPECT_FALSE(all.names_another(1, says("b", 0)));
  EXPECT_FALSE(all.names_another(2, says("b", 0)));
  EXPECT_TRUE(all.names_another(0, says("b", 0)));
  EXPECT_TRUE(all.believes(2, says("b", 0)));
}

// The others may be silent because they are on the other side of what it is cut off by.
TEST(RedisSentinelsTest, OneThatSaysSoAgainAndAgainIsNotAllOfThem) {
  Sentinels all(3);
  EXPECT_TRUE(all.believes(0, says("b", 5)));
  for (int i = 0; i < 6; ++i) {
    EXPECT_FALSE(all.names_another(1, says("a", 4))) << i;
    EXPECT_FALSE(all.names_another(2, says("a", 5))) << i;
  }
  EXPECT_FALSE(all.names_another(0, says("c", 5))) << "not the same other one";
  EXPECT_EQ(all.known().master.host, "b");
  EXPECT_TRUE(all.names_another(0, says("a", 5)));
  EXPECT_EQ(all.known().master.host, "a");
}

// Where a name server takes half a second, no sentinel would ever be found.
TEST(RedisSentinelsTest, ANameHasTheTimeThatAnyNameHas) {
  const Settings settings = Settings::parse("redis+sentinel://nowhere.invalid/mymaster");
  SentinelTalk talk(settings, nullptr);
  const Instant now{std::chrono::hours(1)};
  talk.ask(settings.sentinels->addresses.front(), now);
  EXPECT_EQ(talk.due(), now + remote::connect_time);
  talk.ask({.host = "127.0.0.1", .port = 1, .path = {}}, now);
  const std::optional<SentinelAnswer> answer = talk.advance(now);
  EXPECT_TRUE(answer || talk.due() == now + sentinel_time) << "there is nothing to look up";
}

TEST(RedisSentinelsTest, AllAreAskedInTurn) {
  Sentinels all(3);
  std::set<std::size_t> asked;
  for (int i = 0; i < 3; ++i) asked.insert(all.next_in_turn());
  EXPECT_EQ(asked.size(), 3U);
  EXPECT_EQ(Sentinels(1).next_in_turn(), 0U);
}

}  // namespace
}  // namespace mortise::redis
