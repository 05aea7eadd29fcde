// SPDX-License-Identifier: MIT
// Goal: a channel of Redisson is heard as long as there is a reason, and the server is told no more
// than that it begins and ends. Method: the table alone, with what it says written down.
#include "redis/store/hearing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace mortise::redis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string channel = redisson_channel("a");
const HoldId hold_of_a{.name = "a", .attempt = {1, 2, 3}, .number = 77};

class RedisHearingTest : public ::testing::Test {
 protected:
  /// @return what was said since.
  std::vector<std::string> said() { return std::exchange(said_, {}); }

  bool connected_ = true;
  std::vector<std::string> said_;
  Hearing hearing_{[this](bool begins, const std::string& of) {
    said_.push_back((begins ? "+" : "-") + of);
    return connected_;
  }};
};

TEST_F(RedisHearingTest, AChannelIsHeardForAsLongAsThereIsAReason) {
  hearing_.wait("a");
  EXPECT_THAT(said(), ElementsAre("+" + channel));
  EXPECT_TRUE(hearing_.waits("a"));
  EXPECT_EQ(hearing_.waited_for(channel), "a");
  EXPECT_EQ(hearing_.held(channel), std::nullopt);
  hearing_.wait("a");
  hearing_.hold(hold_of_a);
  hearing_.stop_waiting("a");
  EXPECT_THAT(said(), IsEmpty()) << "it is heard, for another reason";
  EXPECT_FALSE(hearing_.waits("a"));
  EXPECT_EQ(hearing_.waited_for(channel), std::nullopt);
  ASSERT_TRUE(hearing_.held(channel));
  EXPECT_EQ(hearing_.held(channel)->number, 77U);
  HoldId older = hold_of_a;
  older.number = 76;
  hearing_.stop_holding(older);
  EXPECT_TRUE(hearing_.held(channel)) << "that was another hold";
  hearing_.stop_holding(hold_of_a);
  EXPECT_THAT(said(), ElementsAre("-" + channel));
  hearing_.stop_holding(hold_of_a);
  hearing_.stop_waiting("a");
  EXPECT_THAT(said(), IsEmpty());
}

// Or a release would keep the lock for a waiter of Redisson's that is none.
TEST_F(RedisHearingTest, WhoHasLeftIsCountedUntilTheServerSaysSo) {
  EXPECT_FALSE(hearing_.is_still_counted("a"));
  hearing_.wait("a");
  EXPECT_FALSE(hearing_.is_still_counted("a")) << "the server knows who waits first";
  hearing_.stop_waiting("a");
  EXPECT_TRUE(hearing_.is_still_counted("a"));
  hearing_.ended(channel);
  EXPECT_FALSE(hearing_.is_still_counted("a"));
  hearing_.hold(hold_of_a);
  EXPECT_TRUE(hearing_.is_still_counted("a")) << "it does not wait";
}

// One thread's answers came while another one had begun anew, and left again.
TEST_F(RedisHearingTest, WhoHasLeftTwiceIsCountedUntilTheServerHasSaidSoTwice) {
  for (int i = 0; i < 2; ++i) {
    hearing_.wait("a");
    hearing_.stop_waiting("a");
  }
  hearing_.ended(channel);
  EXPECT_TRUE(hearing_.is_still_counted("a"));
  hearing_.ended(channel);
  EXPECT_FALSE(hearing_.is_still_counted("a"));
  hearing_.ended(channel);
  EXPECT_FALSE(hearing_.is_still_counted("a"));
}

// Or a waiter of Redisson's would be taken for this client, for good.
TEST_F(RedisHearingTest, WhoLeavesWithTheConnectionIsNotCounted) {
  hearing_.wait("a");
  connected_ = false;
  hearing_.stop_waiting("a");
  EXPECT_FALSE(hearing_.is_still_counted("a"));
}

TEST_F(RedisHearingTest, WhatCouldNotBeSaidIsSaidNextTime) {
  connected_ = false;
  hearing_.wait("a");
  EXPECT_FALSE(hearing_.waits("a"));
  connected_ = true;
  said_.clear();
  hearing_.wait("a");
  EXPECT_THAT(said(), ElementsAre("+" + channel));
  hearing_.forget();
  EXPECT_FALSE(hearing_.waits("a"));
  EXPECT_FALSE(hearing_.is_still_counted("a"));
  hearing_.stop_waiting("a");
  EXPECT_THAT(said(), ElementsAre()) << "the next connection knows nothing of it";
}

}  // namespace
}  // namespace mortise::redis
