// SPDX-License-Identifier: MIT
// Goal: readers of several processes hold a name together and no writer beside them, neither side
// waits for ever, and nothing of a reader or of a waiting writer outlives its process. Method:
// clients that ask in a given order, threads that never ask again, children that are killed,
// stopped, or outlived by children of their own.
#include "integration/file_sharing_fixture.hpp"
#include "model/seed.hpp"
#include "support/asleep.hpp"

#include <sys/syscall.h>

#include <csignal>
#include <memory>
#include <random>
#include <vector>

namespace mortise::file {
namespace {

using namespace std::chrono_literals;

class FileSharedTest : public FileSharingTest {};

// Promise: S3
TEST_F(FileSharedTest, AKilledReaderFreesTheNameAtOnce) {
  const auto client = user();
  model::Process child =
      model::Process::fork_child(holding(Mode::shared, 0, [](auto&, auto&) { for_ever(); }));
  ASSERT_TRUE(reaches(1));
  EXPECT_FALSE(write(*client));
  const auto beside = read(*client);
  ASSERT_TRUE(beside);
  EXPECT_GT(beside->number, board().number.load());
  child.kill();
  EXPECT_FALSE(write(*client)) << "its own reader holds it";
  EXPECT_EQ(client->release(*beside), Released::released);
  const auto hold = write(*client);
  ASSERT_TRUE(hold);
  EXPECT_GT(hold->number, beside->number);
}

// Promise: S9
TEST_F(FileSharedTest, AForkedChildKeepsNoReaderAlive) {
  const auto client = user();
  model::Process holder =
      model::Process::fork_child(holding(Mode::shared, 0, [this](auto& mine, auto& hold) {
        if (::fork() == 0) {
          board().pid.store(::getpid());
          const bool silent = mine.release(hold) == Released::unknown && !read(mine);
          board().stage.store(silent ? 2 : 3);
          const Instant until = BootClock::now() + 2 * soon;
          while (board().stage.load() < 4 && BootClock::now() < until) std::this_thread::yield();
          ::_exit(0);
        }
        for_ever();
      }));
  ASSERT_TRUE(reaches(2));
  EXPECT_EQ(board().stage.load(), 2) << "the child was let in";
  EXPECT_FALSE(write(*client));
  holder.kill();
  EXPECT_TRUE(client->lock("a", 1500ms, 100ms));
  EXPECT_EQ(::kill(board().pid.load(), 0), 0) << "the child had gone: nothing was tested";
  board().stage.store(4);
}

// Promise: L5
TEST_F(FileSharedTest, ReadersThatComeWaitBehindAWriterThatWaits) {
  const auto first = user();
  const auto second = user();
  const auto third = user();
  const auto hold = read(*first);
  ASSERT_TRUE(hold);
  const auto along = read(*second);
  ASSERT_TRUE(along);
  const Attempt writer = waits(*second, Mode::exclusive);
  EXPECT_FALSE(read(*third)) << "it would overtake a writer of another client";
  EXPECT_FALSE(read(*second)) << "and one of its own";
  EXPECT_EQ(first->release(*hold), Released::released);
  EXPECT_FALSE(read(*first));
  second->backend().cancel(writer);
  EXPECT_TRUE(read(*third)) << "it has given up";
}

TEST_F(FileSharedTest, AReaderWaitsForOneWriterOnly) {
  const auto reading = user();
  const auto one = user();
  const auto two = user();
  const auto late = user();
  const auto hold = read(*reading);
  ASSERT_TRUE(hold);
  const Attempt first = waits(*one, Mode::exclusive);
  const auto patient = user();
  const Attempt reader = waits(*patient, Mode::shared);
  const Attempt second = waits(*two, Mode::exclusive);
  EXPECT_EQ(reading->release(*hold), Released::released);
  patient->backend().acquire(reader);
  EXPECT_FALSE(reader->done()) << "no writer has had a turn";
  one->backend().acquire(first);
  ASSERT_TRUE(granted(first));
  EXPECT_EQ(one->release(User::hold_of(*first)), Released::released);
  EXPECT_FALSE(read(*late)) << "it came while a writer waits";
  patient->backend().acquire(reader);
  ASSERT_TRUE(granted(reader)) << "another writer before it";
  two->backend().acquire(second);
  EXPECT_FALSE(second->done());
  EXPECT_EQ(patient->release(User::hold_of(*reader)), Released::released);
  two->backend().acquire(second);
  ASSERT_TRUE(granted(second));
  EXPECT_GT(reader->grant().number, first->grant().number);
  EXPECT_GT(second->grant().number, reader->grant().number);
}

TEST_F(FileSharedTest, AReaderThatFoundAnOwnerGoesBeforeTheNextOne) {
  const auto owner = user();
  const auto patient = user();
  const auto two = user();
  const auto hold = write(*owner);
  ASSERT_TRUE(hold);
  const Attempt second = waits(*two, Mode::exclusive);
  const Attempt reader = waits(*patient, Mode::shared);
  EXPECT_EQ(owner->release(*hold), Released::released);
  patient->backend().acquire(reader);
  EXPECT_TRUE(granted(reader));
}

TEST_F(FileSharedTest, AWaitingWriterThatIsKilledKeepsNoReaderOut) {
  const auto client = user();
  const auto hold = read(*client);
  ASSERT_TRUE(hold);
  model::Process child = model::Process::fork_child([this] {
    const auto mine = user();
    return mine->lock("a", soon, 100ms) ? 0 : 1;
  });
  ASSERT_TRUE(test::falls_asleep(child.pid(), {SYS_futex_waitv, SYS_futex}));
  const auto other = user();
  EXPECT_FALSE(read(*other));
  child.kill();
  EXPECT_TRUE(read(*other));
}

TEST_F(FileSharedTest, AWaitingWriterThatIsStoppedKeepsReadersOutForAWhileOnly) {
  const auto client = user();
  const auto hold = read(*client);
  ASSERT_TRUE(hold);
  model::Process child = model::Process::fork_child([this] {
    const auto mine = user();
    return mine->lock("a", 2 * soon, 100ms) ? 0 : 1;
  });
  ASSERT_TRUE(test::falls_asleep(child.pid(), {SYS_futex_waitv, SYS_futex}));
  ASSERT_TRUE(child.stop());
  const auto other = user();
  EXPECT_FALSE(read(*other));
  const Attempt reader = waits(*other, Mode::shared);
  ASSERT_TRUE(other->wait(reader, soon, 200ms));
  ASSERT_TRUE(granted(reader));
  EXPECT_EQ(other->release(User::hold_of(*reader)), Released::released);
  child.resume();
  EXPECT_EQ(client->release(*hold), Released::released);
  const auto end = child.wait_for(soon + 5s);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 0);
}

// Promise: S1
TEST_F(FileSharedTest, AnOwnerGoesOnAsAReaderWithNobodyInBetween) {
  const auto mine = user();
  const auto other = user();
  const auto third = user();
  const auto owned = write(*mine);
  ASSERT_TRUE(owned);
  const Attempt writer = waits(*other, Mode::exclusive);
  EXPECT_FALSE(take(*mine, Mode::shared)) << "it is not said whose it is";
  const auto kept = take(*mine, Mode::shared, 0, owned->attempt);
  ASSERT_TRUE(kept);
  EXPECT_GT(kept->number, owned->number);
  EXPECT_FALSE(read(*third));
  EXPECT_EQ(mine->release(*owned), Released::released);
  other->backend().acquire(writer);
  EXPECT_FALSE(writer->done()) << "it is read still";
  other->backend().cancel(writer);
  const auto beside = read(*third);
  ASSERT_TRUE(beside) << "it is not owned any more";
  EXPECT_EQ(mine->release(*kept), Released::released);
  EXPECT_FALSE(write(*other));
  EXPECT_EQ(third->release(*beside), Released::released);
  EXPECT_TRUE(write(*other));
}

TEST_F(FileSharedTest, AnOwnerMayStopReadingFirst) {
  const auto mine = user();
  const auto other = user();
  const auto owned = write(*mine);
  ASSERT_TRUE(owned);
  const auto kept = take(*mine, Mode::shared, 0, owned->attempt);
  ASSERT_TRUE(kept);
  EXPECT_EQ(mine->release(*kept), Released::released);
  EXPECT_FALSE(read(*other)) << "it is the owner still";
  const auto told = other->holder("a");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->mode, Mode::exclusive);
  EXPECT_EQ(mine->release(*owned), Released::released);
  EXPECT_TRUE(write(*other));
}

// Promise: S6
TEST_F(FileSharedTest, AReaderWhoseFileIsDeletedIsTold) {
  const auto client = user();
  const auto hold = read(*client);
  ASSERT_TRUE(hold);
  ASSERT_EQ(::unlink(path_of("a").c_str()), 0);
  ASSERT_TRUE(client->host().poll(std::chrono::milliseconds(soon)));
  const auto losses = client->host().losses();
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses[0].first.mode, Mode::shared);
  EXPECT_EQ(losses[0].first.attempt, hold->attempt);
  EXPECT_EQ(client->release(*hold), Released::was_lost);
  EXPECT_TRUE(write(*client));
}

TEST_F(FileSharedTest, ADiskThatHasToKeepItHasItOfReadersToo) {
  Settings flushes = settings();
  flushes.flush = true;
  const auto client = user(flushes);
  const auto hold = read(*client);
  ASSERT_TRUE(hold);
  EXPECT_EQ(client->release(*hold), Released::released);
  EXPECT_TRUE(write(*client));
}

TEST_F(FileSharedTest, AReleaseOfAnOwnerWakesAllReaders) {
  const auto owner = user();
  const auto hold = write(*owner);
  ASSERT_TRUE(hold);
  std::atomic<int> inside{0};
  std::atomic<int> served{0};
  std::vector<std::thread> threads;
  std::atomic<int> asleep{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto mine = user();
      const Attempt attempt = waits(*mine, Mode::shared);
      ++asleep;
      if (!mine->wait(attempt, soon) || !granted(attempt)) return;
      ++served;
      ++inside;
      // They are inside together: the last one comes as long as the first one stays.
      const Instant until = BootClock::now() + soon;
      while (inside.load() < 4 && BootClock::now() < until) std::this_thread::yield();
      mine->release(User::hold_of(*attempt));
    });
  }
  while (asleep.load() < 4) std::this_thread::yield();
  EXPECT_EQ(owner->release(*hold), Released::released);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served.load(), 4);
  EXPECT_EQ(inside.load(), 4);
}

// Nobody asks again, so that a wake-up that is lost costs the test its time limit.
// Promise: S1
TEST_F(FileSharedTest, NoWakeUpIsLostAndNobodyMeetsAWriter) {
  std::vector<std::thread> threads;
  std::atomic<bool> enough{false};
  std::atomic<int> late{0};
  std::atomic<std::uint64_t> written{0};
  std::atomic<int> grants[2] = {0, 0};
  for (std::uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto mine = user();
      std::mt19937_64 random(model::test_seed() + i);
      while (!enough.load()) {
        const Mode mode = random() % 3 == 0 ? Mode::exclusive : Mode::shared;
        const Attempt attempt = request(*mine, mode, true);
        const std::uint64_t before = written.load();
        mine->backend().acquire(attempt);
        if (!mine->wait(attempt, soon) || !granted(attempt)) {
          ++late;
          enough = true;
          mine->backend().cancel(attempt);
          return;
        }
        const std::uint64_t number = attempt->grant().number;
        if (number <= before) ++board().wrong;
        if (mode == Mode::exclusive) {
          ++grants[0];
          if (board().writers.fetch_add(1) > 0 || board().readers.load() > 0) ++board().wrong;
          written.store(number);
          board().writers.fetch_sub(1);
        } else {
          ++grants[1];
          board().readers.fetch_add(1);
          if (board().writers.load() > 0) ++board().wrong;
          board().readers.fetch_sub(1);
        }
        mine->release(User::hold_of(*attempt));
      }
    });
  }
  std::this_thread::sleep_for(2s);
  enough = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(late.load(), 0) << "a wake-up was lost";
  EXPECT_EQ(board().wrong.load(), 0) << "a reader met a writer, or a number did not grow";
  EXPECT_GT(grants[0].load(), 100);
  EXPECT_GT(grants[1].load(), 100);
}

// Promise: S2
TEST_F(FileSharedTest, KilledAnywhereTheNumbersGrowAndNothingStays) {
  std::mt19937_64 random(model::test_seed());
  std::uint64_t last = 0;
  for (int round = 0; round < 40; ++round) {
    board().stage.store(0);
    model::Process child = model::Process::fork_child([this, round] {
      const auto mine = user();
      for (int i = round;; ++i) {
        const auto hold = i % 3 == 0 ? write(*mine) : read(*mine);
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
    const auto reader = read(*client);
    ASSERT_TRUE(reader) << "round " << round;
    EXPECT_EQ(client->release(*reader), Released::released);
    const auto hold = write(*client);
    ASSERT_TRUE(hold) << "round " << round;
    EXPECT_GT(reader->number, board().number.load());
    EXPECT_GT(reader->number, last);
    EXPECT_GT(hold->number, reader->number);
    last = hold->number;
    board().number.store(last);
  }
}

}  // namespace
}  // namespace mortise::file
