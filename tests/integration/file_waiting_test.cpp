// SPDX-License-Identifier: MIT
// Goal: no wake-up is lost, whatever else happens to the waiters. Method: waiters that never ask
// again by themselves, so that a lost wake-up costs the test its time limit; both ways of sleeping.
#include "file/lock_file.hpp"
#include "integration/file_waiters.hpp"
#include "model/seed.hpp"
#include "support/own_time.hpp"

#include <sys/prctl.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace mortise::file {
namespace {

using namespace std::chrono_literals;

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
    WaitingThreads waiters;
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

// Into every moment of a waiter's way from its first try to its sleep; and nobody else will ever
// wake it.
TEST_P(FileWaitingTest, AReleaseAtAnyMomentIsNoticed) {
  constexpr int rounds = 20000;
  std::mt19937_64 random(model::test_seed());
  const auto holder = client();
  const auto other = client();
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  std::thread thread([&] {
    for (int round = 1; round <= rounds; ++round) {
      while (begun.load() < round) std::this_thread::yield();
      const auto hold = other->lock("a", soon);
      ended.store(hold ? round : rounds + 1);
      if (!hold) return;
      other->release(*hold);
    }
  });
  // On a busy machine fewer rounds have to do; the thread goes through the rest alone.
  const Instant enough = BootClock::now() + 1s;
  for (int round = 1; round <= rounds && BootClock::now() < enough; ++round) {
    const auto hold = holder->lock("a", soon);
    begun.store(hold ? round : rounds);
    if (!hold) break;
    std::atomic<std::uint64_t> spin{random() % 600};
    while (spin.load(std::memory_order_relaxed) > 0) spin.fetch_sub(1, std::memory_order_relaxed);
    holder->release(*hold);
    while (ended.load() < round) std::this_thread::yield();
    if (ended.load() > rounds) break;
  }
  begun.store(rounds);
  thread.join();
  EXPECT_EQ(ended.load(), rounds) << "a wake-up was lost";
}

// A waiter that takes a wake-up and does not want the lock any more has to pass it on.
TEST_P(FileWaitingTest, CancelledAndPokedWaitersSwallowNoWakeUp) {
  std::mt19937_64 random(model::test_seed());
  const auto holder = client();
  const Instant enough = BootClock::now() + 2s;
  for (int round = 0; round < 300 && BootClock::now() < enough; ++round) {
    const auto hold = holder->lock("a", soon);
    ASSERT_TRUE(hold);
    WaitingThreads waiters;
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

TEST_P(FileWaitingTest, ATruncatedFileKillsNobodyAndHeals) {
  const auto holder = client();
  const auto hold = holder->try_lock("a");
  const auto waiting = waiter();
  // Until it is granted: one call of wait() may return for nothing, as when the page comes back.
  waiting->start();
  ASSERT_TRUE(waiting->asleep());
  ASSERT_EQ(::truncate(path_of("a").c_str(), 0), 0);
  // The next one that sleeps finds no page under its word, and puts one there.
  EXPECT_FALSE(client()->lock("a", 20ms));
  EXPECT_EQ(status(path_of("a")).st_size, static_cast<off_t>(4096));
  EXPECT_EQ(holder->release(*hold), Released::released);
  waiting->join();
  EXPECT_TRUE(waiting->in_time());
  ASSERT_TRUE(waiting->granted());
  EXPECT_GT(waiting->operation().grant().number, hold->number);

  // With nobody there to repair it, a release wakes nobody; the re-check finds the free lock.
  const auto last = holder->try_lock("a");
  ASSERT_TRUE(last);
  const auto second = client();
  const auto attempt = second->attempt("a", true);
  second->backend().acquire(attempt);
  ASSERT_EQ(::truncate(path_of("a").c_str(), 0), 0);
  holder->backend().stop();
  EXPECT_TRUE(second->wait(attempt, soon, 10ms));
  EXPECT_GT(attempt->grant().number, last->number);
}

// Threads of two clients on more names than stay open: names are closed and opened all the time.
TEST_P(FileWaitingTest, NamesThatComeAndGoExclude) {
  constexpr std::size_t names = 6;
  constexpr int rounds = 300;
  Settings few = settings();
  few.sleeping = GetParam();
  few.most_idle = 2;
  const auto one = user(few);
  const auto other = user(few);
  const std::uint64_t seed = model::test_seed();
  std::array<std::atomic<int>, names> inside{};
  std::array<std::atomic<std::uint64_t>, names> last{};
  std::atomic<int> broken{0};
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937_64 random(seed + i);
      test::BackendUser& mine = i % 2 == 0 ? *one : *other;
      for (int round = 0; round < rounds; ++round) {
        const std::size_t name = random() % names;
        const auto hold = mine.lock("name" + std::to_string(name), soon);
        if (!hold || inside[name].fetch_add(1) != 0 || last[name].load() >= hold->number) ++broken;
        if (!hold) return;
        last[name].store(hold->number);
        inside[name].fetch_sub(1);
        if (mine.release(*hold) != Released::released) ++broken;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(broken.load(), 0);
}

TEST_P(FileWaitingTest, CapabilitiesTellHowOneWaits) {
  const bool both = GetParam() == Sleeping::on_both && WakeWord::can_sleep_on_both();
  EXPECT_EQ(client()->backend().describe().capabilities.one_wake,
            both ? Support::yes : Support::no);
}

// Promise: L4
TEST_P(FileWaitingTest, WhereTimersAreCoarseItIsLateByOneOfThem) {
  const Directory place(directory(), false);
  std::shared_ptr<LockFile> file;
  ASSERT_FALSE(LockFile::open(place, "a", file));
  const std::atomic<std::uint32_t> signal{0};
  std::thread thread([&] {
    ASSERT_EQ(::prctl(PR_SET_TIMERSLACK, 5'000'000UL), 0);
    const auto sleep = [&] {
      const Woken woken =
          file->sleepers()->sleep(file->word(), signal, signal.load(), 300ms, GetParam());
      EXPECT_EQ(woken, Woken::by_time);
    };
    EXPECT_LT(test::least_duration_of(350ms, sleep), 350ms);
  });
  thread.join();
}

INSTANTIATE_TEST_SUITE_P(Sleeping, FileWaitingTest,
                         testing::Values(Sleeping::on_both, Sleeping::in_slices),
                         [](const auto& tested) {
                           return tested.param == Sleeping::on_both ? "OnBoth" : "InSlices";
                         });

}  // namespace
}  // namespace mortise::file
