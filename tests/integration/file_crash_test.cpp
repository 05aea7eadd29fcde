// SPDX-License-Identifier: MIT
// Goal: whatever happens to a process, its locks go with it, no others do, and numbers grow.
// Method: children that are killed, stopped, or outlived by children of their own.
#include "integration/file_fixture.hpp"
#include "model/process.hpp"
#include "model/seed.hpp"
#include "support/asleep.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <new>
#include <random>
#include <thread>

namespace mortise::file {
namespace {

using namespace std::chrono_literals;

// What this process and its children tell each other.
struct Board {
  std::atomic<int> stage{0};
  std::atomic<std::uint64_t> number{0};
  std::atomic<pid_t> pid{0};
};

class FileCrashTest : public FileTest {
 public:
  FileCrashTest()
      : board_(::new (::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Board) {}
  ~FileCrashTest() override { ::munmap(board_, sizeof(Board)); }

 protected:
  Board& board() const { return *board_; }
  bool reaches(int stage) const {
    const Instant until = BootClock::now() + soon;
    while (board_->stage.load() < stage && BootClock::now() < until) std::this_thread::yield();
    return board_->stage.load() >= stage;
  }
  /// In a child: takes "a", says so, and does the rest while it holds it.
  std::function<int()> holding(const std::function<void(test::BackendUser&, const HoldId&)>& then) {
    return [this, then] {
      const auto client = user();
      const auto hold = client->try_lock("a");
      if (!hold) return 1;
      board_->number.store(hold->number);
      board_->stage.store(1);
      then(*client, *hold);
      return 0;
    };
  }
  static void for_ever() {
    for (;;) ::pause();
  }

 private:
  Board* board_;
};

TEST_F(FileCrashTest, AKilledHolderFreesTheNameAtOnce) {
  const auto client = user();
  model::Process child = model::Process::fork_child(holding([](auto&, auto&) { for_ever(); }));
  ASSERT_TRUE(reaches(1));
  EXPECT_FALSE(client->try_lock("a"));
  child.kill();
  const auto hold = client->try_lock("a");
  ASSERT_TRUE(hold);
  EXPECT_GT(hold->number, board().number.load());
}

TEST_F(FileCrashTest, AWaiterFindsTheDeathWhenItAsksAgain) {
  model::Process child = model::Process::fork_child(holding([](auto&, auto&) { for_ever(); }));
  ASSERT_TRUE(reaches(1));
  const auto client = user();
  const auto attempt = client->attempt("a", true);
  client->backend().acquire(attempt);
  EXPECT_EQ(attempt->progress(), Acquisition::Progress::queued);
  std::atomic<bool> in_time{false};
  std::thread thread([&] { in_time.store(client->wait(attempt, soon, 50ms)); });
  child.kill();
  thread.join();
  EXPECT_TRUE(in_time.load());
  EXPECT_GT(attempt->grant().number, board().number.load());
}

// A lock lives as long as its open file description, which a child inherits by each descriptor and
// by each mapping made from it.
TEST_F(FileCrashTest, AForkedChildKeepsNothingAlive) {
  const auto client = user();
  model::Process holder = model::Process::fork_child(holding([this](auto& mine, auto& hold) {
    if (::fork() == 0) {
      // It ends by itself at the end of the test, or after its time.
      board().pid.store(::getpid());
      const bool silent = mine.release(hold) == Released::unknown && !mine.try_lock("b");
      board().stage.store(silent ? 2 : 3);
      const Instant until = BootClock::now() + 2 * soon;
      while (board().stage.load() < 4 && BootClock::now() < until) std::this_thread::yield();
      ::_exit(0);
    }
    for_ever();
  }));
  ASSERT_TRUE(reaches(2));
  EXPECT_EQ(board().stage.load(), 2) << "the child was let in";
  EXPECT_FALSE(client->try_lock("a"));
  const Instant killed = BootClock::now();
  holder.kill();
  EXPECT_TRUE(client->lock("a", 1500ms, 100ms));
  EXPECT_LT(BootClock::now() - killed, 1500ms);
  EXPECT_EQ(::kill(board().pid.load(), 0), 0) << "the child had gone: nothing was tested";
  board().stage.store(4);
}

TEST_F(FileCrashTest, AStoppedHolderKeepsTheName) {
  const auto client = user();
  model::Process child = model::Process::fork_child(holding([this](auto& mine, auto& hold) {
    while (board().stage.load() < 2) std::this_thread::yield();
    if (mine.release(hold) == Released::released) board().stage.store(3);
  }));
  ASSERT_TRUE(reaches(1));
  ASSERT_TRUE(child.stop());
  EXPECT_FALSE(client->lock("a", 50ms, 10ms));
  child.resume();
  board().stage.store(2);
  EXPECT_TRUE(reaches(3));
  EXPECT_TRUE(client->try_lock("a"));
}

TEST_F(FileCrashTest, AReleaseWakesAnotherProcess) {
  const auto client = user();
  const auto hold = client->try_lock("a");
  model::Process child = model::Process::fork_child([this] {
    const auto mine = user();
    return mine->lock("a", soon) ? 0 : 1;
  });
  ASSERT_TRUE(test::falls_asleep(child.pid(), {SYS_futex_waitv, SYS_futex}));
  EXPECT_EQ(client->release(*hold), Released::released);
  const auto end = child.wait_for(soon + 5s);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 0);
}

TEST_F(FileCrashTest, AStoppedWaiterHoldsNobodyUp) {
  const auto client = user();
  const auto hold = client->try_lock("a");
  model::Process child = model::Process::fork_child([this] {
    const auto mine = user();
    return mine->lock("a", soon) ? 0 : 1;
  });
  ASSERT_TRUE(test::falls_asleep(child.pid(), {SYS_futex_waitv, SYS_futex}));
  ASSERT_TRUE(child.stop());
  // It is woken by this, and has the first try; but it does not run.
  EXPECT_EQ(client->release(*hold), Released::released);
  const auto again = client->lock("a", soon);
  ASSERT_TRUE(again);
  child.resume();
  EXPECT_EQ(client->release(*again), Released::released);
  const auto end = child.wait_for(soon + 5s);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 0);
}

TEST_F(FileCrashTest, KilledAnywhereTheNumbersGrow) {
  std::mt19937_64 random(model::test_seed());
  std::uint64_t last = 0;
  for (int round = 0; round < 40; ++round) {
    board().stage.store(0);
    model::Process child = model::Process::fork_child([this] {
      const auto mine = user();
      for (;;) {
        const auto hold = mine->try_lock("a");
        if (!hold || hold->number <= board().number.load()) return 1;
        board().number.store(hold->number);
        board().stage.store(1);
        mine->release(*hold);
      }
    });
    ASSERT_TRUE(reaches(1));
    std::atomic<std::uint64_t> spin{random() % 20000};
    while (spin.load() > 0) spin.fetch_sub(1);
    ASSERT_TRUE(child.kill().killed()) << "round " << round << ": a number did not grow";
    const auto client = user();
    const auto hold = client->try_lock("a");
    ASSERT_TRUE(hold) << "round " << round;
    EXPECT_GT(hold->number, board().number.load());
    EXPECT_GT(hold->number, last);
    last = hold->number;
    board().number.store(last);
  }
}

}  // namespace
}  // namespace mortise::file
