// SPDX-License-Identifier: MIT
// Goal: what the memory server remembers of keys is bounded, and no late copy of a request takes a
// key that nobody knows of (O1, S5). Method: requests by hand, one after the other.
#include "memory/store.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace mortise::memory {
namespace {

using namespace std::chrono_literals;

class MemoryKeys : public ::testing::Test {
 protected:
  [[nodiscard]] Acquisition::Request request(const std::string& key, bool wait = false) {
    return {.attempt = {.client_high = 1, .client_low = 2, .sequence = ++attempts_},
            .name = key,
            .mode = Mode::once,
            .lease = 10s,
            .wait = wait,
            .memory = memory_};
  }
  [[nodiscard]] static HoldId hold_of(const Acquisition::Request& request, const Answer& answer) {
    return {.name = request.name,
            .attempt = request.attempt,
            .number = answer.grant ? answer.grant->number : 0,
            .mode = Mode::once};
  }
  [[nodiscard]] Conclusion conclusion(std::uint64_t run, const std::string& bytes) const {
    return {.state = KeyState::succeeded, .bytes = bytes, .run = run, .memory = memory_};
  }
  void run_once(const std::string& key) {
    const Acquisition::Request mine = request(key);
    const Answer answer = store_->acquire(mine, nullptr);
    ASSERT_TRUE(answer.grant);
    const Conclusion done = conclusion(answer.run, "done");
    ASSERT_EQ(store_->release(hold_of(mine, answer), Store::Ends::attempt, &done),
              Released::released);
  }
  [[nodiscard]] KeyState state(const std::string& key) {
    return store_->recall(key, Recollection::Kind::look)->state;
  }

  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  const std::shared_ptr<Store> store_ = std::make_shared<Store>(clock_);
  const std::shared_ptr<const Memory> memory_ = std::make_shared<const Memory>(
      Memory{.fingerprint = "a", .repeat = Repeat::after_failure, .keep = 1h});
  std::uint64_t attempts_ = 0;
};

TEST_F(MemoryKeys, WhatIsOverIsRemovedByWhoeverComesBy) {
  constexpr std::size_t many = 2'000;
  for (std::size_t i = 0; i < many; ++i) run_once("old " + std::to_string(i));
  EXPECT_EQ(store_->remembered(), many);
  clock_->advance(30min);
  for (std::size_t i = 0; i < 100; ++i) run_once("young " + std::to_string(i));
  EXPECT_EQ(store_->remembered(), many + 100);
  clock_->advance(30min);
  // Each request removes a few, so that none is slow, and all are gone soon.
  EXPECT_EQ(state("another"), KeyState::absent);
  EXPECT_GT(store_->remembered(), many / 2);
  for (std::size_t i = 0; i < many; ++i) static_cast<void>(state("another"));
  EXPECT_EQ(store_->remembered(), 100U);
}

// Promise: O1
TEST_F(MemoryKeys, AConclusionThatIsSaidAgainFindsItself) {
  const Acquisition::Request mine = request("key");
  const Answer answer = store_->acquire(mine, nullptr);
  const Conclusion done = conclusion(answer.run, "done");
  EXPECT_EQ(store_->release(hold_of(mine, answer), Store::Ends::attempt, &done),
            Released::released);
  EXPECT_EQ(store_->release(hold_of(mine, answer), Store::Ends::attempt, &done),
            Released::released);
  EXPECT_EQ(state("key"), KeyState::succeeded);
  // Not for another run, nor for one that is not remembered any more.
  HoldId other = hold_of(mine, answer);
  ++other.number;
  EXPECT_EQ(store_->release(other, Store::Ends::attempt, &done), Released::was_lost);
  clock_->advance(1h);
  EXPECT_EQ(store_->release(hold_of(mine, answer), Store::Ends::attempt, &done),
            Released::was_lost);
  EXPECT_EQ(state("key"), KeyState::absent) << "it was recorded once more";
}

// Promise: O2
TEST_F(MemoryKeys, ALateConclusionRecordsNothing) {
  const Acquisition::Request mine = request("key");
  const Answer answer = store_->acquire(mine, nullptr);
  clock_->advance(10s);
  const Conclusion done = conclusion(answer.run, "late");
  EXPECT_EQ(store_->release(hold_of(mine, answer), Store::Ends::attempt, &done),
            Released::was_lost);
  EXPECT_EQ(state("key"), KeyState::pending);
  const Acquisition::Request second = request("key");
  const Answer next = store_->acquire(second, nullptr);
  EXPECT_EQ(next.run, 2U);
  EXPECT_EQ(store_->release(hold_of(mine, answer), Store::Ends::attempt, &done),
            Released::was_lost);
  EXPECT_TRUE(store_->renew(hold_of(second, next), 10s).stands) << "the next run was disturbed";
}

// Promise: O4
TEST_F(MemoryKeys, ARequestThatIsAskedAgainIsTheSameRun) {
  const Acquisition::Request mine = request("key");
  const Answer first = store_->acquire(mine, nullptr);
  const Answer again = store_->acquire(mine, nullptr);
  ASSERT_TRUE(first.grant && again.grant);
  EXPECT_EQ(first.grant->number, again.grant->number);
  EXPECT_EQ(first.run, again.run);
}

// Promise: S5
TEST_F(MemoryKeys, ALateCopyOfWhatWasToldARecordTakesNothing) {
  store_->network().set_faults({.delay_max = 1ms});  // only such a network brings copies late
  run_once("key");
  const Acquisition::Request told = request("key", true);
  EXPECT_TRUE(store_->acquire(told, nullptr).record);
  EXPECT_TRUE(store_->acquire(told, nullptr).record) << "the reply may have been lost";
  EXPECT_FALSE(store_->recall("key", Recollection::Kind::forget)->held);
  const Answer copy = store_->acquire(told, nullptr);
  EXPECT_TRUE(copy.refused);
  EXPECT_FALSE(copy.grant) << "nobody knows of that run";
  EXPECT_FALSE(store_->recall("key", Recollection::Kind::look)->held);
}

TEST_F(MemoryKeys, AMismatchIsToldWithoutTheBytes) {
  run_once("key");
  Acquisition::Request other = request("key");
  other.memory = std::make_shared<const Memory>(Memory{.fingerprint = "b", .keep = 1h});
  const Answer answer = store_->acquire(other, nullptr);
  ASSERT_TRUE(answer.record);
  EXPECT_EQ(answer.record->bytes, "");
  EXPECT_EQ(answer.record->fingerprint, "a");
}

}  // namespace
}  // namespace mortise::memory
