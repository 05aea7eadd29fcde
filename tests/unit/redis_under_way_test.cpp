// SPDX-License-Identifier: MIT
// Goal: whatever a thread learned of one connection changes nothing of the next, so that each reply
// goes to the call that it answers. Method: the list alone; a connection breaks between the steps
// of a send.
#include "redis/under_way.hpp"

#include <gtest/gtest.h>

namespace mortise::redis {
namespace {

class RedisUnderWay : public ::testing::Test {
 protected:
  static Call call(const std::shared_ptr<Operation>& operation) { return {.operation = operation}; }

  UnderWay calls_;
  const std::shared_ptr<Check> one_ = std::make_shared<Check>();
  const std::shared_ptr<Check> two_ = std::make_shared<Check>();
};

TEST_F(RedisUnderWay, AnswersGoToTheOldest) {
  calls_.add(call(one_));
  calls_.add(call(two_));
  EXPECT_EQ(calls_.size(), 2U);
  EXPECT_EQ(calls_.oldest().operation, one_);
  EXPECT_EQ(calls_.answered()->operation, one_);
  EXPECT_EQ(calls_.answered()->operation, two_);
  EXPECT_TRUE(calls_.empty());
  EXPECT_FALSE(calls_.answered());
}

TEST_F(RedisUnderWay, WhatWasNotSentIsTakenBack) {
  calls_.add(call(one_));
  const UnderWay::Place second = calls_.add(call(two_));
  calls_.add(call(one_));
  EXPECT_TRUE(calls_.take_back(second));
  EXPECT_FALSE(calls_.take_back(second));
  EXPECT_EQ(calls_.size(), 2U);
  EXPECT_EQ(calls_.answered()->operation, one_);
  EXPECT_EQ(calls_.answered()->operation, one_);
}

// Two threads ask for one operation: each takes its own call back, or a cancel would go with the
// request that it cancels.
TEST_F(RedisUnderWay, OfOneOperationExactlyTheCallThatWasNotSent) {
  Call cancel = call(one_);
  cancel.kind = Call::Kind::cancel;
  Call acquire = call(one_);
  acquire.kind = Call::Kind::acquire;
  const UnderWay::Place first = calls_.add(acquire);
  calls_.add(cancel);
  EXPECT_TRUE(calls_.take_back(first));
  EXPECT_EQ(calls_.answered()->kind, Call::Kind::cancel);
}

// A thread whose send failed sleeps while the connection is dropped and made anew, and its call has
// been sent again there: that one stays, or the replies shift by one.
// Promise: S1
TEST_F(RedisUnderWay, NothingIsTakenBackFromAnotherConnection) {
  const UnderWay::Place stale = calls_.add(call(one_));
  const std::uint64_t before = calls_.generation();
  std::deque<Call> unanswered;
  calls_.end(unanswered);
  ASSERT_EQ(unanswered.size(), 1U);
  EXPECT_EQ(unanswered.front().operation, one_);
  EXPECT_GT(calls_.generation(), before);
  EXPECT_TRUE(calls_.empty());
  calls_.add(call(two_));
  calls_.add(call(one_));
  EXPECT_FALSE(calls_.take_back(stale));
  EXPECT_EQ(calls_.answered()->operation, two_);
  EXPECT_EQ(calls_.answered()->operation, one_);
}

}  // namespace
}  // namespace mortise::redis
