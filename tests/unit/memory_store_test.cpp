// SPDX-License-Identifier: MIT
// Goal: the memory server keeps no hold of an attempt that is over (S5). Method: what late copies
// of requests do, one after the other.
#include "memory/store.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

namespace mortise::memory {
namespace {

using namespace std::chrono_literals;

class MemoryStore : public ::testing::Test {
 protected:
  /// @return the number of the grant.
  std::uint64_t take() {
    const Answer answer = store_->acquire(request_, nullptr);
    return answer.grant ? answer.grant->number : 0;
  }
  /// Two copies of one request, of which the second comes when the lease is over.
  void take_twice() {
    first_ = take();
    clock_->advance(2s);
    second_ = take();
    ASSERT_NE(first_, second_);
    ASSERT_TRUE(store_->inspect("a"));
  }
  [[nodiscard]] HoldId hold(std::uint64_t number) const {
    return {.name = "a", .attempt = request_.attempt, .number = number};
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<Store> store_ = std::make_shared<Store>(clock_);
  Acquisition::Request request_{
      .attempt = {.client_high = 1, .client_low = 2, .sequence = 3}, .name = "a", .lease = 1s};
  std::uint64_t first_ = 0;
  std::uint64_t second_ = 0;
};

// Promise: S5
TEST_F(MemoryStore, AReleaseFreesWhatALateCopyOfItsAttemptHasTaken) {
  take_twice();
  EXPECT_EQ(store_->release(hold(first_)), Released::was_lost);
  EXPECT_FALSE(store_->inspect("a")) << "nobody knows of that hold";
}

TEST_F(MemoryStore, OneGrantIsGivenBackAlone) {
  take_twice();
  EXPECT_EQ(store_->release(hold(first_), Store::Ends::grant), Released::was_lost);
  EXPECT_TRUE(store_->inspect("a"));
  EXPECT_EQ(store_->release(hold(second_)), Released::released);
  EXPECT_FALSE(store_->inspect("a"));
}

TEST_F(MemoryStore, ALookAtTheHolderSettlesNothing) {
  EXPECT_FALSE(store_->holder("a"));
  static_cast<void>(take());
  EXPECT_TRUE(store_->holder("a"));
  const std::uint64_t requests = store_->requests();
  clock_->advance(1s);
  EXPECT_FALSE(store_->holder("a")) << "its lease is over";
  EXPECT_EQ(store_->requests(), requests);
}

}  // namespace
}  // namespace mortise::memory
