// SPDX-License-Identifier: MIT
// Goal: whatever a thread learned of one connection changes nothing of the next, so that each reply
// goes to the call that it answers. Method: the list alone; a connection breaks between the steps
// of a send.
#include "remote/under_way.hpp"

#include <gtest/gtest.h>

#include <malloc.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

enum class Who : std::uint8_t { one, two };

struct Sent {
  Who who = Who::one;
  bool cancels = false;
  Instant left{};
  Instant deadline{};
  std::uint64_t number = 0;
  std::shared_ptr<int> operation{};
};

void let_go(Sent& call) noexcept { call.operation.reset(); }

class RemoteUnderWay : public ::testing::Test {
 protected:
  static Sent call(Who who) { return {.who = who}; }
  /// An answer comes, and its caller gets it. @return the call
  Sent answer() {
    Sent* const taken = calls_.take_oldest();
    if (taken == nullptr) throw std::logic_error("no call is under way");
    Sent call = *taken;
    calls_.answer();
    calls_.finish();
    return call;
  }

  UnderWay<Sent> calls_;
  const Who one_ = Who::one;
  const Who two_ = Who::two;
};

TEST_F(RemoteUnderWay, AnswersGoToTheOldest) {
  calls_.add(call(one_));
  calls_.add(call(two_));
  EXPECT_EQ(calls_.size(), 2U);
  EXPECT_EQ(answer().who, one_);
  EXPECT_EQ(answer().who, two_);
  EXPECT_TRUE(calls_.empty());
  EXPECT_EQ(calls_.take_oldest(), nullptr);
}

TEST_F(RemoteUnderWay, FindsTheEarliestDeadlineOfAllCalls) {
  const Instant start{100s};
  const auto deadline = [&] {
    return calls_.earliest([](Instant /*left*/, Instant of_a_call) { return of_a_call; });
  };
  EXPECT_EQ(deadline(), never);
  calls_.add({.who = one_, .deadline = start + 2s});
  const UnderWay<Sent>::Place second = calls_.add({.who = two_, .deadline = start + 1s});
  calls_.add({.who = one_, .deadline = start + 3s});
  EXPECT_EQ(deadline(), start + 1s);
  EXPECT_EQ(calls_.take_back(second).size(), 1U);
  EXPECT_EQ(deadline(), start + 2s);
  answer();
  EXPECT_EQ(deadline(), start + 3s);
  answer();
  EXPECT_EQ(deadline(), never);
}

TEST_F(RemoteUnderWay, WhatWasNotSentIsTakenBack) {
  calls_.add(call(one_));
  const UnderWay<Sent>::Place second = calls_.add(call(two_));
  calls_.add(call(one_));
  EXPECT_EQ(calls_.take_back(second).size(), 1U);
  EXPECT_TRUE(calls_.take_back(second).empty());
  EXPECT_EQ(calls_.size(), 2U);
  EXPECT_EQ(answer().who, one_);
  EXPECT_EQ(answer().who, one_);
  EXPECT_TRUE(calls_.empty());
}

// Two threads ask for one operation: each takes its own call back, or a cancel would go with the
// request that it cancels.
TEST_F(RemoteUnderWay, OfOneOperationExactlyTheCallThatWasNotSent) {
  const UnderWay<Sent>::Place first = calls_.add({.who = one_, .cancels = false});
  calls_.add({.who = one_, .cancels = true});
  EXPECT_EQ(calls_.take_back(first).size(), 1U);
  EXPECT_TRUE(answer().cancels);
}

// A server that answers before a request has left is wrong, and must do no harm.
TEST_F(RemoteUnderWay, AnAnsweredCallIsNotTakenBack) {
  const UnderWay<Sent>::Place place = calls_.add(call(one_));
  ASSERT_NE(calls_.take_oldest(), nullptr);
  EXPECT_TRUE(calls_.take_back(place).empty()) << "the reader has it";
  calls_.answer();
  calls_.finish();
  EXPECT_TRUE(calls_.take_back(place).empty());
  EXPECT_TRUE(calls_.empty());
}

// A thread whose send failed sleeps while the connection is dropped and the next one is made. Its
// call was sent again there. That call stays, or each reply would go to the call before its own.
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
  EXPECT_EQ(answer().who, two_);
  EXPECT_EQ(answer().who, one_);
}

// If there is no memory to pass an answer on, the call counts as not answered.
TEST_F(RemoteUnderWay, AnAnswerThatNobodyCouldBeToldDidNotCome) {
  calls_.add(call(one_));
  calls_.add(call(two_));
  ASSERT_NE(calls_.take_oldest(), nullptr);
  calls_.answer();
  calls_.put_back();
  const UnderWay<Sent>::Calls unanswered = calls_.end();
  ASSERT_EQ(unanswered.size(), 2U);
  EXPECT_EQ(unanswered.front().who, one_);
  EXPECT_TRUE(calls_.empty());
  EXPECT_EQ(calls_.take_oldest(), nullptr);
}

TEST_F(RemoteUnderWay, AnAnswerToSomethingBeforeTheCallLeavesItTheOldest) {
  calls_.add(call(one_));
  ASSERT_NE(calls_.take_oldest(), nullptr);
  calls_.leave();
  EXPECT_EQ(calls_.size(), 1U);
  EXPECT_EQ(answer().who, one_);
}

TEST_F(RemoteUnderWay, TheConnectionMayEndWhileAnAnswerIsPassedOn) {
  calls_.add({.who = one_, .operation = std::make_shared<int>(1)});
  calls_.add(call(two_));
  Sent* const taken = calls_.take_oldest();
  ASSERT_NE(taken, nullptr);
  calls_.answer();
  EXPECT_EQ(calls_.end().size(), 1U) << "the other one";
  calls_.add(call(two_));
  EXPECT_EQ(calls_.taken().who, one_) << "its memory is not that of the next call";
  calls_.finish();
  EXPECT_EQ(taken->operation, nullptr);
  EXPECT_EQ(answer().who, two_);
}

TEST_F(RemoteUnderWay, SaysWhetherACallOfAKindIsNotAnswered) {
  const auto cancels = [](const Sent& each) { return each.cancels; };
  calls_.add({.who = one_, .cancels = true});
  calls_.add(call(two_));
  EXPECT_TRUE(calls_.any(cancels));
  answer();
  EXPECT_FALSE(calls_.any(cancels));
}

TEST_F(RemoteUnderWay, TheMemoryOfWhatIsOverIsUsedAgain) {
  const std::shared_ptr<int> operation = std::make_shared<int>(1);
  std::set<const Sent*> places;
  for (int i = 0; i < 1000; ++i) {
    calls_.add({.who = one_, .operation = operation});
    const Sent* const taken = calls_.take_oldest();
    places.insert(taken);
    calls_.answer();
    calls_.finish();
    ASSERT_EQ(operation.use_count(), 1) << "it is let go";
  }
  EXPECT_LE(places.size(), 3U);
}

// A proxy that lets each connection be made, and no call be answered.
TEST_F(RemoteUnderWay, ConnectionsWithoutAnAnswerNeedNoMoreMemory) {
  constexpr std::size_t most = 100'000;
  const std::size_t before = ::mallinfo2().uordblks;
  for (int i = 0; i < 10'000; ++i) {
    calls_.add(call(one_));
    ASSERT_EQ(calls_.end().size(), 1U);
  }
  EXPECT_LT(::mallinfo2().uordblks, before + most);
  calls_.add(call(two_));
  EXPECT_EQ(answer().who, two_);
}

// Promise: S1
TEST_F(RemoteUnderWay, EachAnswerGoesToItsCallWhileOtherThreadsSend) {
  constexpr std::uint64_t each = 20'000;
  std::mutex mutex;
  std::atomic<std::uint64_t> left{0};  // to the server
  const auto send = [&] {
    for (std::uint64_t i = 0; i < each; ++i) {
      while (calls_.size() > 500) std::this_thread::yield();
      const std::lock_guard lock(mutex);
      calls_.make_room();
      const UnderWay<Sent>::Place place = calls_.add({.operation = std::make_shared<int>(1)});
      if (i % 7 == 0) {
        EXPECT_EQ(calls_.take_back(place).size(), 1U);
      } else {
        left.fetch_add(1);
      }
    }
  };
  std::uint64_t last = 0;
  {
    const std::array senders{std::jthread(send), std::jthread(send)};
    const std::uint64_t all = senders.size() * (each - (each + 6) / 7);
    for (std::uint64_t answers = 0; answers < all; ++answers) {
      while (left.load() <= answers) std::this_thread::yield();
      Sent* const call = calls_.take_oldest();
      ASSERT_NE(call, nullptr);
      EXPECT_GT(call->number, last);
      EXPECT_NE(call->operation, nullptr);
      last = call->number;
      calls_.answer();
      calls_.finish();
    }
  }
  EXPECT_TRUE(calls_.empty());
}

}  // namespace
}  // namespace mortise::remote
