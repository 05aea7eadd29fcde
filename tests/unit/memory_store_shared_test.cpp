// SPDX-License-Identifier: MIT
// Goal: the memory server lets readers in together, writers alone, and nobody twice. Method:
// requests one after the other, their late copies, and a clock in the test's hand.
#include "memory/link.hpp"
#include "memory/store.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

namespace mortise::memory {
namespace {

using namespace std::chrono_literals;

class MemoryStoreShared : public ::testing::Test {
 protected:
  Acquisition::Request request(Mode mode, bool wait = false) {
    return {.attempt = {.client_high = 1, .client_low = 2, .sequence = ++sequence_},
            .name = "a",
            .mode = mode,
            .lease = 1s,
            .wait = wait};
  }
  Acquisition::Request reader(bool wait = false) { return request(Mode::shared, wait); }
  Acquisition::Request writer(bool wait = false) { return request(Mode::exclusive, wait); }
  /// @return the number of the grant; 0 = none.
  std::uint64_t ask(const Acquisition::Request& what) {
    const Answer answer = store_->acquire(what, link_);
    return answer.grant ? answer.grant->number : 0;
  }
  [[nodiscard]] static HoldId hold(const Acquisition::Request& what, std::uint64_t number) {
    return {.name = "a", .attempt = what.attempt, .number = number, .mode = what.mode};
  }

  std::uint64_t sequence_ = 0;
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<Store> store_ = std::make_shared<Store>(clock_);
  std::shared_ptr<Link> link_ = std::make_shared<Link>(store_, "link");
};

TEST_F(MemoryStoreShared, AGrantIsTheSameWhenAskedAgain) {
  const auto a = reader();
  const auto b = reader();
  const std::uint64_t first = ask(a);
  const std::uint64_t second = ask(b);
  EXPECT_GT(first, 0U);
  EXPECT_GT(second, first);
  EXPECT_EQ(ask(a), first);
  EXPECT_EQ(ask(b), second);
  EXPECT_EQ(store_->release(hold(a, first)), Released::released);
  EXPECT_EQ(store_->release(hold(a, first)), Released::was_lost);
  EXPECT_EQ(ask(writer()), 0U);
  EXPECT_EQ(store_->release(hold(b, second)), Released::released);
  EXPECT_GT(ask(writer()), second);
}

TEST_F(MemoryStoreShared, EachLeaseRunsOutForItself) {
  const auto a = reader();
  const auto b = reader();
  const std::uint64_t first = ask(a);
  const std::uint64_t second = ask(b);
  clock_->advance(600ms);
  EXPECT_TRUE(store_->renew(hold(b, second), 1s).stands);
  clock_->advance(600ms);
  EXPECT_FALSE(store_->renew(hold(a, first), 1s).stands);
  EXPECT_EQ(ask(writer()), 0U);
  clock_->advance(600ms);
  EXPECT_GT(ask(writer()), second);
}

TEST_F(MemoryStoreShared, ARenewalTellsWhetherAnybodyIsKeptOut) {
  const auto a = reader();
  const auto w = writer(true);
  const std::uint64_t number = ask(a);
  EXPECT_FALSE(store_->renew(hold(a, number), 10s).wanted);
  EXPECT_EQ(ask(w), 0U);
  EXPECT_TRUE(store_->renew(hold(a, number), 10s).wanted);
  EXPECT_EQ(ask(reader()), 0U) << "it would overtake the writer";
  static_cast<void>(store_->cancel(w));
  EXPECT_FALSE(store_->renew(hold(a, number), 10s).wanted);
  EXPECT_GT(ask(reader()), 0U);
}

TEST_F(MemoryStoreShared, ADeadWriterKeepsNoReaderWaiting) {
  const auto a = reader();
  const auto w = writer(true);
  const auto b = reader(true);
  const std::uint64_t number = ask(a);
  EXPECT_EQ(ask(w), 0U);
  EXPECT_TRUE(store_->renew(hold(a, number), 60s).stands);
  clock_->advance(2s);
  EXPECT_EQ(ask(b), 0U) << "it may live";
  clock_->advance(2s);
  EXPECT_GT(ask(b), 0U) << "nobody has heard of the writer for more than three seconds";
  EXPECT_FALSE(store_->renew(hold(a, number), 60s).wanted);
}

TEST_F(MemoryStoreShared, AnOwnersReaderIsLetInWhileItOwns) {
  const auto x = writer();
  const auto w = writer(true);
  auto reads = reader();
  reads.beside = x.attempt;
  const std::uint64_t owned = ask(x);
  EXPECT_EQ(ask(w), 0U);
  const std::uint64_t read = ask(reads);
  EXPECT_GT(read, owned);
  EXPECT_EQ(ask(reads), read);
  EXPECT_EQ(ask(reader()), 0U);
  EXPECT_EQ(store_->inspect("a")->mode, Mode::exclusive);
  EXPECT_EQ(store_->release(hold(x, owned)), Released::released);
  EXPECT_EQ(store_->inspect("a")->mode, Mode::shared);
  EXPECT_EQ(ask(w), 0U);
  auto late = reader();
  late.beside = x.attempt;
  EXPECT_EQ(ask(late), 0U) << "that hold is over: it is as any other";
  EXPECT_EQ(store_->release(hold(reads, read)), Released::released);
  EXPECT_GT(ask(w), read);
}

TEST_F(MemoryStoreShared, AReleaseFreesWhatALateCopyOfItsAttemptHasTaken) {
  const auto a = reader();
  const std::uint64_t first = ask(a);
  clock_->advance(2s);
  const std::uint64_t second = ask(a);
  ASSERT_GT(second, first);
  EXPECT_EQ(store_->release(hold(a, first), Store::Ends::grant), Released::was_lost);
  EXPECT_TRUE(store_->inspect("a")) << "that grant alone";
  EXPECT_EQ(store_->release(hold(a, first)), Released::was_lost);
  EXPECT_FALSE(store_->inspect("a"));
}

TEST_F(MemoryStoreShared, AnAdministratorTakesEverythingOrTheReadersOnly) {
  const auto x = writer();
  static_cast<void>(ask(x));
  auto reads = reader();
  reads.beside = x.attempt;
  static_cast<void>(ask(reads));
  store_->drop("a", Mode::shared);
  EXPECT_EQ(store_->holder("a")->mode, Mode::exclusive);
  EXPECT_GT(ask(reads), 0U);
  store_->drop("a", Mode::exclusive);
  EXPECT_FALSE(store_->holder("a"));
}

}  // namespace
}  // namespace mortise::memory
