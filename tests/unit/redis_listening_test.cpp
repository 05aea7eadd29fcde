// SPDX-License-Identifier: MIT
// Goal: a client listens for each name that somebody waits for, is not told twice to, and stops a
// while after. Method: what it says is noted; the test owns the clock.
#include "redis/store/listening.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mortise::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RedisListeningTest : public ::testing::Test {
 protected:
  std::vector<std::string> said() { return std::exchange(said_, {}); }

  std::vector<std::string> said_;
  bool connected_ = true;
  Listening names_{[this](bool begins, const std::string& name) {
    if (connected_) said_.push_back((begins ? "+" : "-") + name);
    return connected_;
  }};
  const Instant start_{1h};
};

TEST_F(RedisListeningTest, ANameIsSaidOnceAndHeardWhenThatIsAnswered) {
  names_.wait("a", start_);
  names_.wait("a", start_);
  EXPECT_THAT(said(), ElementsAre("+a"));
  EXPECT_FALSE(names_.since("a"));
  EXPECT_TRUE(names_.began("a", start_ + 1s));
  EXPECT_EQ(names_.since("a"), start_ + 1s);
  EXPECT_FALSE(names_.began("b", start_)) << "nobody waits for that";
}

TEST_F(RedisListeningTest, WhatCouldNotBeSaidIsSaidNextTime) {
  connected_ = false;
  names_.wait("a", start_);
  connected_ = true;
  names_.wait("a", start_);
  EXPECT_THAT(said(), ElementsAre("+a"));
}

TEST_F(RedisListeningTest, ASlotThatLeavesTakesItsNamesAlong) {
  names_.wait("a", start_);
  static_cast<void>(names_.began("a", start_));
  EXPECT_TRUE(names_.ended("a"));
  EXPECT_FALSE(names_.ended("a"));
  said();
  names_.wait("a", start_);
  EXPECT_THAT(said(), ElementsAre("+a"));
}

TEST_F(RedisListeningTest, OneThatWasRefusedIsSaidAgain) {
  names_.wait("a", start_);
  static_cast<void>(names_.began("a", start_));
  names_.wait("b", start_);
  names_.refused();
  said();
  names_.wait("a", start_);
  names_.wait("b", start_);
  EXPECT_THAT(said(), ElementsAre("+b"));
}

TEST_F(RedisListeningTest, WhatNobodyHasWaitedForIsLeftAfterAWhile) {
  names_.wait("a", start_);
  names_.wait("b", start_);
  names_.wait("b", start_ + 29s);
  said();
  names_.wait("c", start_ + 31s);
  EXPECT_THAT(said(), ElementsAre("-a", "+c"));
  EXPECT_FALSE(names_.ended("a")) << "it was we who said so";
  names_.wait("d", start_ + 32s);
  EXPECT_THAT(said(), ElementsAre("+d")) << "not looked at each time";
}

TEST_F(RedisListeningTest, ABrokenConnectionForgetsAll) {
  names_.wait("a", start_);
  names_.forget();
  said();
  names_.wait("a", start_);
  EXPECT_THAT(said(), ElementsAre("+a"));
}

}  // namespace
}  // namespace mortise::redis
