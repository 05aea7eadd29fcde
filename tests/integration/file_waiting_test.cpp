// SPDX-License-Identifier: MIT
// Goal: a release wakes exactly one waiter, whatever else happens to the waiters, and no wake-up is
// lost. Method: waiters that never ask again by themselves, so that a lost wake-up costs the test
// its time limit; both ways of sleeping.
#include "file/lock_file.hpp"
#include "integration/file_fixture.hpp"
#include "model/seed.hpp"
#include "support/asleep.hpp"

#include <sys/syscall.h>

#include <atomic>
#include <climits>
#include <random>
#include <thread>
#include <vector>

namespace mortise::file {
namespace {

using namespace std::chrono_literals;

// A client in a thread that waits for the name once.
class WaitingThread {
 public:
  WaitingThread(std::shared_ptr<test::BackendUser> user, const std::string& name)
      : user_(std::move(user)), operation_(user_->attempt(name, true)) {
    user_->backend().acquire(operation_);
  }
  WaitingThread(const WaitingThread&) = delete;
  WaitingThread& operator=(const WaitingThread&) = delete;
  ~WaitingThread() {
    if (thread_.joinable()) thread_.join();
  }

  /// Waits until granted or completed otherwise, and frees the name at once.
  void start() {
    thread_ = std::thread([this] {
      thread_id_.store(static_cast<pid_t>(::syscall(SYS_gettid)));
      in_time_ = user_->wait(operation_, soon);
      if (granted()) user_->release(test::BackendUser::hold_of(*operation_));
    });
  }
  /// One call of wait(), not more; a grant is kept.
  void start_once() {
    thread_ = std::thread([this] {
      const std::uint32_t seen = operation_->signal();
      thread_id_.store(static_cast<pid_t>(::syscall(SYS_gettid)));
      user_->backend().wait(*operation_, seen, soon);
      returned_.store(true);
    });
  }
  [[nodiscard]] bool asleep() const {
    const auto until = BootClock::now() + soon;
    while (thread_id_.load() == 0 && BootClock::now() < until) std::this_thread::yield();
    return test::falls_asleep(thread_id_.load(), {SYS_futex_waitv, SYS_futex});
  }
  [[nodiscard]] bool returns() const {
    const auto until = BootClock::now() + soon;
    while (!returned_.load() && BootClock::now() < until) std::this_thread::yield();
    return returned_.load();
  }
  void join() { thread_.join(); }
  void cancel() { user_->backend().cancel(operation_); }
  void stop() { user_->backend().stop(); }
  void poke() { operation_->poke(); }
  [[nodiscard]] bool in_time() const { return in_time_; }
  [[nodiscard]] bool granted() const {
    return operation_->done() && operation_->grant().number != 0;
  }
  [[nodiscard]] Acquisition& operation() { return *operation_; }

 private:
  std::shared_ptr<test::BackendUser> user_;
  std::shared_ptr<Acquisition> operation_;
  std::atomic<pid_t> thread_id_{0};
  std::atomic<bool> returned_{false};
  bool in_time_ = false;
  std::thread thread_;
};

using Waiters = std::vector<std::unique_ptr<WaitingThread>>;

class FileWaitingTest : public FileTest, public testing::WithParamInterface<Sleeping> {
 protected:
  std::shared_ptr<test::BackendUser> client() const {
    Settings mine = settings();
    mine.sleeping = GetParam();
    return user(mine);
  }
  /// @param number of the client, which several waiters of a test may share one after the other
  std::unique_ptr<WaitingThread> waiter(std::size_t number = 0) {
    while (clients_.size() <= number) clients_.push_back(client());
    return std::make_unique<WaitingThread>(clients_[number], "a");
  }

 private:
  std::vector<std::shared_ptr<test::BackendUser>> clients_;
};

// In slices a release may have every waiter try once, as the capabilities say.
class FileOneWakeTest : public FileWaitingTest {};

TEST_P(FileOneWakeTest, AReleaseWakesOneWaiter) {
  constexpr std::size_t count = 6;
  const auto holder = client();
  EXPECT_EQ(holder->backend().capabilities().one_wake, Support::yes);
  const auto hold = holder->try_lock("a");
  Waiters waiters;
  for (std::size_t i = 0; i < count; ++i) {
    waiters.push_back(waiter(i));
    waiters.back()->start_once();
    ASSERT_TRUE(waiters.back()->asleep());
  }
  EXPECT_EQ(holder->release(*hold), Released::released);
  // The one that has waited longest; nobody else is there to take the lock from under it.
  ASSERT_TRUE(waiters.front()->returns());
  EXPECT_TRUE(waiters.front()->granted());
  // Were another one woken, it would have come back, and were not asleep in its first wait.
  const Directory place(directory(), false);
  std::shared_ptr<LockFile> file;
  ASSERT_FALSE(LockFile::open(place, "a", file));
  EXPECT_EQ(file->sleepers()->bump_and_wake(INT_MAX), static_cast<int>(count - 1));
  for (std::size_t i = 1; i < count; ++i) {
    EXPECT_TRUE(waiters[i]->returns());
    EXPECT_FALSE(waiters[i]->granted());
  }
}

INSTANTIATE_TEST_SUITE_P(OnBoth, FileOneWakeTest, testing::Values(Sleeping::on_both));

TEST_P(FileWaitingTest, AWaiterOfTheSameClientIsWoken) {
  const auto mine = client();
  const auto hold = mine->try_lock("a");
  const auto second = mine->attempt("a", true);
  mine->backend().acquire(second);
  std::thread thread([&] { EXPECT_TRUE(mine->wait(second, soon)); });
  EXPECT_EQ(mine->release(*hold), Released::released);
  thread.join();
  EXPECT_GT(second->grant().number, hold->number);
}

TEST_P(FileWaitingTest, TheLockGoesThroughAllWaiters) {
  const auto holder = client();
  for (int round = 0; round < 50; ++round) {
    const auto hold = holder->try_lock("a");
    ASSERT_TRUE(hold);
    Waiters waiters;
    for (std::size_t i = 0; i < 8; ++i) {
      waiters.push_back(waiter(i));
      waiters.back()->start();
    }
    EXPECT_EQ(holder->release(*hold), Released::released);
    for (auto& one : waiters) {
      one->join();
      ASSERT_TRUE(one->in_time()) << "a wake-up was lost";
      ASSERT_TRUE(one->granted());
    }
  }
}

// A waiter that takes a wake-up and does not want the lock any more has to pass it on.
TEST_P(FileWaitingTest, CancelledAndPokedWaitersSwallowNoWakeUp) {
  std::mt19937_64 random(model::test_seed());
  const auto holder = client();
  for (int round = 0; round < 300; ++round) {
    const auto hold = holder->lock("a", soon);
    ASSERT_TRUE(hold);
    Waiters waiters;
    for (std::size_t i = 0; i < 4; ++i) {
      waiters.push_back(waiter(i));
      waiters.back()->start();
    }
    for (const auto& one : waiters) ASSERT_TRUE(one->asleep());
    holder->release(*hold);
    // Into the moment between the wake-up of the first and its next try.
    std::atomic<std::uint64_t> spin{random() % 4000};
    while (spin.load(std::memory_order_relaxed) > 0) spin.fetch_sub(1, std::memory_order_relaxed);
    for (std::size_t i = 0; i + 1 < waiters.size(); ++i) {
      if (random() % 4 == 0) waiters[i]->poke();
      if (random() % 2 == 0) waiters[i]->cancel();
    }
    for (auto& one : waiters) {
      one->join();
      ASSERT_TRUE(one->in_time()) << "round " << round << ": a wake-up was lost";
    }
    ASSERT_TRUE(waiters.back()->granted());
  }
}

TEST_P(FileWaitingTest, APokeEndsTheSleep) {
  const auto holder = client();
  const auto hold = holder->try_lock("a");
  const auto waiting = waiter();
  waiting->start_once();
  ASSERT_TRUE(waiting->asleep());
  waiting->poke();
  EXPECT_TRUE(waiting->returns());
  EXPECT_FALSE(waiting->operation().done());
  waiting->cancel();
}

TEST_P(FileWaitingTest, ACancelEndsTheSleep) {
  const auto holder = client();
  const auto hold = holder->try_lock("a");
  const auto waiting = waiter();
  waiting->start();
  ASSERT_TRUE(waiting->asleep());
  waiting->cancel();
  waiting->join();
  EXPECT_TRUE(waiting->in_time());
  EXPECT_FALSE(waiting->granted());
}

TEST_P(FileWaitingTest, AStopEndsTheSleep) {
  const auto holder = client();
  const auto hold = holder->try_lock("a");
  const auto waiting = waiter();
  waiting->start();
  ASSERT_TRUE(waiting->asleep());
  waiting->stop();
  waiting->join();
  EXPECT_TRUE(waiting->in_time());
  EXPECT_EQ(waiting->operation().failure().code, Errc::closed);
}

TEST_P(FileWaitingTest, TheTimeEndsTheSleep) {
  const auto holder = client();
  const auto hold = holder->try_lock("a");
  const auto other = client();
  const Instant before = BootClock::now();
  EXPECT_FALSE(other->lock("a", 30ms));
  EXPECT_GE(BootClock::now() - before, 30ms);
  EXPECT_EQ(holder->release(*hold), Released::released);
  EXPECT_TRUE(other->try_lock("a"));
}

TEST_P(FileWaitingTest, AYieldIsGrantedAtOnceWhereNobodyWaits) {
  const auto mine = client();
  const auto hold = mine->try_lock("a");
  const auto successor = mine->attempt("a", true);
  EXPECT_EQ(mine->release(*hold, successor), Released::released);
  ASSERT_TRUE(successor->done());
  EXPECT_GT(successor->grant().number, hold->number);
  EXPECT_FALSE(client()->try_lock("a"));
  EXPECT_EQ(mine->release(test::BackendUser::hold_of(*successor)), Released::released);
}

TEST_P(FileWaitingTest, AYieldOfALostHoldStillAsks) {
  const auto mine = client();
  const auto hold = mine->try_lock("a");
  mine->release(*hold);
  const auto successor = mine->attempt("a", true);
  EXPECT_EQ(mine->release(*hold, successor), Released::was_lost);
  EXPECT_TRUE(successor->done());
  EXPECT_NE(successor->grant().number, 0U);
}

// Were the yielding client to try at once, it would win nearly always: it runs, the other one has
// to be woken first.
TEST_P(FileWaitingTest, AYieldLetsTheWokenOneGoFirst) {
  const auto mine = client();
  int polite = 0;
  constexpr int rounds = 40;
  for (int round = 0; round < rounds; ++round) {
    const auto hold = mine->lock("a", soon);
    ASSERT_TRUE(hold);
    const auto other = waiter();
    other->start();
    ASSERT_TRUE(other->asleep());
    // A yield, and a new request right behind a release: both are a turn for the other one.
    auto next = mine->attempt("a", true);
    if (round % 2 == 0) {
      mine->release(*hold, next);
    } else {
      mine->release(*hold);
      mine->backend().acquire(next);
    }
    ASSERT_TRUE(mine->wait(next, soon));
    ASSERT_NE(next->grant().number, 0U);
    const bool was_first =
        other->granted() && other->operation().grant().number < next->grant().number;
    polite += was_first ? 1 : 0;
    mine->release(test::BackendUser::hold_of(*next));
    other->join();
    ASSERT_TRUE(other->in_time());
  }
  EXPECT_GT(polite, rounds / 2);
}

TEST_P(FileWaitingTest, ATruncatedFileKillsNobodyAndHeals) {
  const auto holder = client();
  const auto hold = holder->try_lock("a");
  const auto waiting = waiter();
  waiting->start_once();
  ASSERT_TRUE(waiting->asleep());
  ASSERT_EQ(::truncate(path_of("a").c_str(), 0), 0);
  // The next one that sleeps finds no page under its word, and puts one there.
  EXPECT_FALSE(client()->lock("a", 20ms));
  EXPECT_EQ(status(path_of("a")).st_size, static_cast<off_t>(4096));
  EXPECT_EQ(holder->release(*hold), Released::released);
  EXPECT_TRUE(waiting->returns());
  EXPECT_TRUE(waiting->granted());
  EXPECT_GT(waiting->operation().grant().number, hold->number);

  // With nobody there to repair it, a release wakes nobody; the re-check finds the free lock.
  const auto second = client();
  const auto attempt = second->attempt("a", true);
  second->backend().acquire(attempt);
  ASSERT_EQ(::truncate(path_of("a").c_str(), 0), 0);
  waiting->stop();
  EXPECT_TRUE(second->wait(attempt, soon, 10ms));
  EXPECT_GT(attempt->grant().number, waiting->operation().grant().number);
}

TEST_P(FileWaitingTest, CapabilitiesTellHowOneWaits) {
  const bool both = GetParam() == Sleeping::on_both;
  EXPECT_EQ(client()->backend().capabilities().one_wake, both ? Support::yes : Support::no);
}

INSTANTIATE_TEST_SUITE_P(Sleeping, FileWaitingTest,
                         testing::Values(Sleeping::on_both, Sleeping::in_slices),
                         [](const auto& tested) {
                           return tested.param == Sleeping::on_both ? "OnBoth" : "InSlices";
                         });

}  // namespace
}  // namespace mortise::file
