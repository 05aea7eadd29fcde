// SPDX-License-Identifier: MIT
// Goal: whoever waits for a key is woken by what answers it. Method: threads that never ask again
// by themselves, of several clients, so that a lost wake-up costs the test its time limit.
#include "integration/file_key_fixture.hpp"
#include "support/asleep.hpp"

#include <gtest/gtest.h>

#include <sys/syscall.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace mortise::file {
namespace {

class FileKeyWaitingTest : public FileKeyTest {};

class WaitingForKey {
 public:
  WaitingForKey(const KeyUser& user, Memory memory)
      : user_(user), operation_(user_.ask("a", memory, true)), thread_([this] {
          thread_id_.store(static_cast<pid_t>(::syscall(SYS_gettid)));
          in_time_ = user_.user().wait(operation_, soon);
        }) {}
  WaitingForKey(const WaitingForKey&) = delete;
  WaitingForKey& operator=(const WaitingForKey&) = delete;
  ~WaitingForKey() {
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] bool asleep() const {
    while (thread_id_.load() == 0) std::this_thread::yield();
    return test::falls_asleep(thread_id_.load(), {SYS_futex_waitv, SYS_futex});
  }
  /// Waits for its end.
  const Acquisition& end() {
    thread_.join();
    EXPECT_TRUE(in_time_);
    return *operation_;
  }
  [[nodiscard]] bool done() const { return operation_->done(); }

 private:
  KeyUser user_;
  std::shared_ptr<Acquisition> operation_;
  std::atomic<pid_t> thread_id_{0};
  bool in_time_ = false;
  std::thread thread_;
};

using Waiting = std::vector<std::unique_ptr<WaitingForKey>>;

TEST_F(FileKeyWaitingTest, ASuccessIsToldToAllWhoWait) {
  KeyUser runner = keys();
  const auto run = runner.begin("a");
  Waiting waiting;
  for (int i = 0; i < 6; ++i) {
    // Of this client, of one that several share, and of others.
    const KeyUser user = i < 2 ? runner : keys();
    waiting.push_back(std::make_unique<WaitingForKey>(user, KeyUser::a_day()));
    ASSERT_TRUE(waiting.back()->asleep());
  }
  ASSERT_EQ(runner.succeed(*run, "receipt"), Released::released);
  for (const auto& waiter : waiting) {
    const Acquisition& told = waiter->end();
    ASSERT_TRUE(told.record());
    EXPECT_EQ(told.record()->bytes, "receipt");
    EXPECT_FALSE(told.holder() && told.grant().number != 0);
  }
}

TEST_F(FileKeyWaitingTest, GivenBackOneOfThoseWhoWaitRuns) {
  KeyUser runner = keys();
  const auto run = runner.begin("a");
  KeyUser one = keys();
  KeyUser two = keys();
  Waiting waiting;
  waiting.push_back(std::make_unique<WaitingForKey>(one, KeyUser::a_day()));
  waiting.push_back(std::make_unique<WaitingForKey>(two, KeyUser::a_day()));
  for (const auto& waiter : waiting) ASSERT_TRUE(waiter->asleep());
  ASSERT_EQ(runner.give_back(*run), Released::released);
  while (!waiting[0]->done() && !waiting[1]->done()) std::this_thread::yield();
  const bool first = waiting[0]->done();
  const auto second_run = KeyUser::granted(waiting[first ? 0 : 1]->end());
  ASSERT_TRUE(second_run);
  EXPECT_EQ(second_run->run, 2U);
  EXPECT_FALSE(waiting[first ? 1 : 0]->done());
  EXPECT_EQ((first ? one : two).succeed(*second_run, "x"), Released::released);
  const Acquisition& told = waiting[first ? 1 : 0]->end();
  ASSERT_TRUE(told.record());
  EXPECT_EQ(told.record()->run, 2U);
}

// Each is answered by the failure for which it waited: one runs, and whoever does not repeat is
// told, even if the other has begun before it was awake.
TEST_F(FileKeyWaitingTest, AFailureAnswersThoseWhoDoNotRepeat) {
  for (int round = 0; round < 20; ++round) {
    KeyUser runner = keys();
    const auto run = runner.begin("a");
    ASSERT_TRUE(run);
    KeyUser next = keys();
    WaitingForKey repeats(next, KeyUser::a_day());
    ASSERT_TRUE(repeats.asleep());
    Waiting others;
    for (int i = 0; i < 2; ++i) {
      others.push_back(std::make_unique<WaitingForKey>(
          keys(), Memory{.repeat = Repeat::never, .keep = std::chrono::hours(1)}));
      ASSERT_TRUE(others.back()->asleep());
    }
    ASSERT_EQ(runner.fail(*run, "no"), Released::released);
    const auto second = KeyUser::granted(repeats.end());
    ASSERT_TRUE(second);
    EXPECT_EQ(second->run, 2U);
    for (const auto& waiter : others) {
      const Acquisition& told = waiter->end();
      ASSERT_TRUE(told.record());
      EXPECT_EQ(told.record()->state, KeyState::failed);
      EXPECT_EQ(told.record()->bytes, "no");
    }
    ASSERT_EQ(next.give_back(*second), Released::released);
    ASSERT_TRUE(next.forget("a"));
  }
}

TEST_F(FileKeyWaitingTest, WhereEachRunsOneComesAfterTheOther) {
  const Memory always{.repeat = Repeat::always, .keep = std::chrono::hours(1)};
  KeyUser runner = keys();
  const auto run = runner.begin("a", always);
  std::vector<KeyUser> users;
  Waiting waiting;
  for (int i = 0; i < 4; ++i) {
    users.push_back(keys());
    // The last one only wants to know.
    const Memory memory = i < 3 ? always : KeyUser::a_day();
    waiting.push_back(std::make_unique<WaitingForKey>(users.back(), memory));
    ASSERT_TRUE(waiting.back()->asleep());
  }
  ASSERT_EQ(runner.succeed(*run, "1"), Released::released);
  std::uint64_t runs = 1;
  std::vector<bool> ended(4, false);
  const Instant until = BootClock::now() + soon;
  while (runs < 4 && BootClock::now() < until) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (ended[i] || !waiting[i]->done()) continue;
      ended[i] = true;
      const auto mine = KeyUser::granted(waiting[i]->end());
      ASSERT_TRUE(mine);
      EXPECT_EQ(mine->run, ++runs);
      ASSERT_EQ(users[i].succeed(*mine, std::to_string(runs)), Released::released);
    }
  }
  EXPECT_EQ(runs, 4U);
  const Acquisition& told = waiting[3]->end();
  ASSERT_TRUE(told.record());
  EXPECT_EQ(told.record()->bytes, std::to_string(told.record()->run));
}

}  // namespace
}  // namespace mortise::file
