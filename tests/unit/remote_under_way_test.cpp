// SPDX-License-Identifier: MIT
// Goal: whatever a thread learned of one connection changes nothing of the next, so that each reply
// goes to the call that it answers. Method: the list alone; a connection breaks between the steps
// of a send.
#include "remote/under_way.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

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
  EXPECT_EQ(calls_.answered().front().who, one_);
  EXPECT_EQ(calls_.answered().front().who, two_);
  EXPECT_TRUE(calls_.empty());
  EXPECT_TRUE(calls_.answered().empty());
}

TEST_F(RemoteUnderWay, TheOldestSaysUntilWhenItHasToBeAnswered) {
  const Instant start{100s};
  EXPECT_EQ(calls_.deadline(), never);
  calls_.add({.who = one_, .deadline = start + 2s});
  calls_.add({.who = two_, .deadline = start + 1s});
  EXPECT_EQ(calls_.deadline(), start + 2s) << "answers come in the order of the calls";
  static_cast<void>(calls_.answered());
  EXPECT_EQ(calls_.deadline(), start + 1s);
}

TEST_F(RemoteUnderWay, WhatWasNotSentIsTakenBack) {
  calls_.add(call(one_));
  const UnderWay<Sent>::Place second = calls_.add(call(two_));
  calls_.add(call(one_));
  EXPECT_EQ(calls_.take_back(second).size(), 1U);
  EXPECT_TRUE(calls_.take_back(second).empty());
  EXPECT_EQ(calls_.size(), 2U);
  EXPECT_EQ(calls_.answered().front().who, one_);
  EXPECT_EQ(calls_.answered().front().who, one_);
}

// Two threads ask for one operation: each takes its own call back, or a cancel would go with the
// request that it cancels.
TEST_F(RemoteUnderWay, OfOneOperationExactlyTheCallThatWasNotSent) {
  const UnderWay<Sent>::Place first = calls_.add({.who = one_, .cancels = false});
  calls_.add({.who = one_, .cancels = true});
  EXPECT_EQ(calls_.take_back(first).size(), 1U);
  EXPECT_TRUE(calls_.answered().front().cancels);
}

// A thread whose send failed sleeps while the connection is dropped and made anew, and its call has
// been sent again there: that one stays, or the replies shift by one.
// Promise: S1
// Promise: S1
TEST_F(RemoteUnderWay, NothingIsTakenBackFromAnotherConnection) {
  const UnderWay<Sent>::Place stale = calls_.add(call(one_));
  const std::uint64_t before = calls_.generation();
  const UnderWay<Sent>::Calls unanswered = calls_.end();
  ASSERT_EQ(unanswered.size(), 1U);
  EXPECT_EQ(unanswered.front().who, one_);
  EXPECT_GT(calls_.generation(), before);
  EXPECT_TRUE(calls_.empty());
  calls_.add(call(two_));
  calls_.add(call(one_));
  EXPECT_TRUE(calls_.take_back(stale).empty());
  EXPECT_EQ(calls_.answered().front().who, two_);
  EXPECT_EQ(calls_.answered().front().who, one_);
}

// What is told to nobody was not answered.
TEST_F(RemoteUnderWay, AnAnswerThatNobodyCouldBeToldDidNotCome) {
  calls_.add(call(one_));
  calls_.add(call(two_));
  UnderWay<Sent>::Calls answered = calls_.answered();
  ASSERT_EQ(answered.size(), 1U);
  calls_.put_back(answered);
  EXPECT_TRUE(answered.empty());
  const UnderWay<Sent>::Calls unanswered = calls_.end();
  ASSERT_EQ(unanswered.size(), 2U);
  EXPECT_EQ(unanswered.front().who, one_);
  EXPECT_TRUE(calls_.answered().empty());
}

TEST_F(RemoteUnderWay, TheMemoryOfWhatIsOverIsUsedAgain) {
  calls_.add(call(one_));
  UnderWay<Sent>::Calls over = calls_.answered();
  const Sent* const memory = &over.front();
  calls_.reuse(over);
  EXPECT_TRUE(over.empty());
  EXPECT_TRUE(calls_.empty()) << "it is none of those that are under way";
  calls_.add(call(two_));
  EXPECT_EQ(&calls_.oldest(), memory);
  EXPECT_EQ(calls_.oldest().who, two_);
}

}  // namespace
}  // namespace mortise::remote
