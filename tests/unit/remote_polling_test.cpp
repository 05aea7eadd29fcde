// SPDX-License-Identifier: MIT
// Goal: the library polls a client from its first request to close(), which waits for the servers
// as long as that helps, and not longer than its time. Method: a store with a number of answers
// that have not come.
#include "remote/polling.hpp"
#include "support/fake_host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <vector>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

class Store final : public Polling {
 public:
  explicit Store(test::FakeHost& host) : Polling(host) {}

  void make_connection() {
    unless_closed([this] { ++connections; });
  }

  int connections = 0;
  int attached = 0;
  bool has_memory = true;
  bool is_hurried = false;
  bool answers = true;
  int unanswered = 0;
  // Of all questions; a thread that stands still asks a little too early or too late.
  Instant earliest = never;
  Instant latest{};

 private:
  [[nodiscard]] Instant due() const noexcept override { return Instant{}; }
  void ready(short /*events*/, Instant /*now*/) override {
    if (answers) --unanswered;
  }
  void attach_all() override {
    if (!has_memory) throw std::bad_alloc();
    ++attached;
  }
  void detach_all() noexcept override { --attached; }
  void hurry() override { is_hurried = true; }
  [[nodiscard]] bool is_any_pending(Instant until) override {
    earliest = std::min(earliest, until);
    latest = std::max(latest, until);
    return unanswered > 0;
  }
  void add_sources(std::vector<Source*>& /*sources*/) override {}
};

class PolledStore : public ::testing::Test {
 protected:
  test::FakeHost host_;
  Store store_{host_};
};

TEST_F(PolledStore, PollsFromTheFirstRequestToTheEnd) {
  EXPECT_TRUE(store_.begin());
  EXPECT_TRUE(store_.begin());
  EXPECT_EQ(store_.attached, 1);
  EXPECT_EQ(host_.sources(), 1U);
  store_.make_connection();
  EXPECT_TRUE(store_.close());
  EXPECT_EQ(store_.attached, 0);
  EXPECT_EQ(host_.sources(), 0U);
  EXPECT_FALSE(store_.close());
  EXPECT_FALSE(store_.begin());
  store_.make_connection();
  EXPECT_EQ(store_.connections, 1) << "made after the end";
}

TEST_F(PolledStore, BeginsAgainIfThereWasNoMemory) {
  store_.has_memory = false;
  EXPECT_THROW(static_cast<void>(store_.begin()), std::bad_alloc);
  store_.has_memory = true;
  EXPECT_TRUE(store_.begin());
  EXPECT_EQ(store_.attached, 1);
}

TEST_F(PolledStore, WaitsForEachAnswerAtTheEnd) {
  ASSERT_TRUE(store_.begin());
  store_.unanswered = 5;
  store_.give_back_the_rest();
  EXPECT_TRUE(store_.is_hurried);
  EXPECT_EQ(store_.unanswered, 0);
}

TEST_F(PolledStore, DoesNotWaitIfItWasNeverAsked) {
  store_.unanswered = 1;
  store_.answers = false;
  store_.give_back_the_rest();
  EXPECT_EQ(store_.earliest, never);
}

// Promise: L4
TEST_F(PolledStore, GivesUpAServerThatDoesNotAnswer) {
  ASSERT_TRUE(store_.begin());
  store_.unanswered = 1;
  store_.answers = false;
  const Instant before = host_.clock()->now();
  store_.give_back_the_rest();
  const Instant after = host_.clock()->now();
  EXPECT_GE(store_.latest - before, 600ms) << "not for the repetition of a call that was refused";
  EXPECT_GE(after - store_.earliest, 150ms) << "too late for an answer";
  EXPECT_LT(after - before, 10s);
}

}  // namespace
}  // namespace mortise::remote
