// SPDX-License-Identifier: MIT
// Goal: whatever a thread learned of one connection changes nothing of the next, so that each reply
// goes to the call that it answers. Method: the list alone; a connection breaks between the steps
// of a send.
#include "remote/under_way.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <deque>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

enum class Who : std::uint8_t { one, two };

struct Sent {
  Who who = Who::one;
  bool cancels = false;
  Instant deadline = never;
  std::uint64_t number = 0;
};

class RemoteUnderWay : public ::testing::Test {
 protected:
  static Sent call(Who who) { return {.who = who}; }

  UnderWay<Sent> calls_;
  const Who one_ = Who::one;
  const Who two_ = Who::two;
};

TEST_F(RemoteUnderWay, AnswersGoToTheOldest) {
  calls_.add(call(one_));
  calls_.add(call(two_));
  EXPECT_EQ(calls_.size(), 2U);
  EXPECT_EQ(calls_.oldest().who, one_);
  EXPECT_EQ(calls_.answered()->who, one_);
  EXPECT_EQ(calls_.answered()->who, two_);
  EXPECT_TRUE(calls_.empty());
  EXPECT_FALSE(calls_.answered());
}

TEST_F(RemoteUnderWay, TheOldestSaysUntilWhenItHasToBeAnswered) {
  const Instant start{100s};
  EXPECT_EQ(calls_.deadline(), never);
  calls_.add({.who = one_, .deadline = start + 2s});
  calls_.add({.who = two_, .deadline = start + 1s});
  EXPECT_EQ(calls_.deadline(), start + 2s) << "answers come in the order of the calls";
  calls_.answered();
  EXPECT_EQ(calls_.deadline(), start + 1s);
}

TEST_F(RemoteUnderWay, WhatWasNotSentIsTakenBack) {
  calls_.add(call(one_));
  const UnderWay<Sent>::Place second = calls_.add(call(two_));
  calls_.add(call(one_));
  EXPECT_TRUE(calls_.take_back(second));
  EXPECT_FALSE(calls_.take_back(second));
  EXPECT_EQ(calls_.size(), 2U);
  EXPECT_EQ(calls_.answered()->who, one_);
  EXPECT_EQ(calls_.answered()->who, one_);
}

// Two threads ask for one operation: each takes its own call back, or a cancel would go with the
// request that it cancels.
TEST_F(RemoteUnderWay, OfOneOperationExactlyTheCallThatWasNotSent) {
  const UnderWay<Sent>::Place first = calls_.add({.who = one_, .cancels = false});
  calls_.add({.who = one_, .cancels = true});
  EXPECT_TRUE(calls_.take_back(first));
  EXPECT_TRUE(calls_.answered()->cancels);
}

// A thread whose send failed sleeps while the connection is dropped and made anew, and its call has
// been sent again there: that one stays, or the replies shift by one.
// Promise: S1
// Promise: S1
TEST_F(RemoteUnderWay, NothingIsTakenBackFromAnotherConnection) {
  const UnderWay<Sent>::Place stale = calls_.add(call(one_));
  const std::uint64_t before = calls_.generation();
  std::deque<Sent> unanswered;
  calls_.end(unanswered);
  ASSERT_EQ(unanswered.size(), 1U);
  EXPECT_EQ(unanswered.front().who, one_);
  EXPECT_GT(calls_.generation(), before);
  EXPECT_TRUE(calls_.empty());
  calls_.add(call(two_));
  calls_.add(call(one_));
  EXPECT_FALSE(calls_.take_back(stale));
  EXPECT_EQ(calls_.answered()->who, two_);
  EXPECT_EQ(calls_.answered()->who, one_);
}

}  // namespace
}  // namespace mortise::remote
