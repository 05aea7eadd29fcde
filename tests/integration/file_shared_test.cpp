// SPDX-License-Identifier: MIT
// Goal: readers of several processes hold a name together and no writer beside them, and nothing of
// a reader outlives its process. Method: clients that ask in a given order, children that are
// killed, or outlived by children of their own.
#include "integration/file_sharing_fixture.hpp"
#include "model/seed.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <random>

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
  const auto told = client->holder("a");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->mode, Mode::shared);
  const Attempt refused = request(*client, Mode::exclusive, false);
  client->backend().acquire(refused);
  ASSERT_TRUE(refused->holder());
  EXPECT_EQ(refused->holder()->mode, Mode::shared);
  const auto beside = read(*client);
  ASSERT_TRUE(beside);
  EXPECT_GE(beside->number, board().number.load());
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

// An idle client has the old file open still.
TEST_F(FileSharedTest, AReaderOfADeletedFileReadsTheNewOne) {
  const auto client = user();
  const auto before = read(*client);
  ASSERT_TRUE(before);
  EXPECT_EQ(client->release(*before), Released::released);
  ASSERT_EQ(::unlink(path_of("a").c_str()), 0);
  const auto other = user();
  const auto hold = write(*other);
  ASSERT_TRUE(hold);
  EXPECT_FALSE(read(*client)) << "it holds beside an owner";
  EXPECT_EQ(other->release(*hold), Released::released);
  EXPECT_TRUE(read(*client));
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

// The numbers are ahead of the clock, which then hides no mistake.
// Promise: S2
TEST_F(FileSharedTest, ReadersHaveANumberBetweenThoseOfTheWriters) {
  const auto one = user();
  const auto other = user();
  std::uint64_t last = 0;
  for (int round = 0; round < 5; ++round) {
    const auto owned = write(*one);
    ASSERT_TRUE(owned);
    EXPECT_GT(owned->number, last);
    EXPECT_EQ(one->release(*owned), Released::released);
    if (round == 0) put_the_number_ahead(Mode::shared);
    const auto here = read(*one);
    const auto there = read(*other);
    ASSERT_TRUE(here && there);
    for (const auto& reader : {here, there}) {
      EXPECT_GT(reader->number, owned->number);
      last = std::max(last, reader->number);
    }
    EXPECT_EQ(one->release(*here), Released::released);
    EXPECT_EQ(other->release(*there), Released::released);
  }
}

// After a power failure a file may be what it was a minute before, and so with a backup.
// Promise: S2
TEST_F(FileSharedTest, AnOldNumberIsDrawnAnew) {
  const auto one = user();
  const auto other = user();
  const auto owned = write(*one);
  ASSERT_TRUE(owned);
  EXPECT_EQ(one->release(*owned), Released::released);
  const std::uint64_t before = owned->number - 60'000'000;
  FileTest::write(path_of("a"), &before, sizeof before, 16);
  const auto reader = read(*one);
  ASSERT_TRUE(reader);
  EXPECT_GT(reader->number, owned->number);
  const auto beside = read(*other);
  ASSERT_TRUE(beside);
  EXPECT_GT(beside->number, owned->number);
  EXPECT_EQ(one->release(*reader), Released::released);
  EXPECT_EQ(other->release(*beside), Released::released);
  const auto next = write(*one);
  ASSERT_TRUE(next);
  EXPECT_GT(next->number, std::max(reader->number, beside->number));
}

// Promise: S2
TEST_F(FileSharedTest, AFileTruncatedUnderReadersHasNumbersThatGrow) {
  const auto one = user();
  const auto other = user();
  const auto owned = write(*one);
  ASSERT_TRUE(owned);
  const auto kept = take(*one, Mode::shared, 0, owned->attempt);
  ASSERT_TRUE(kept);
  EXPECT_EQ(one->release(*owned), Released::released);
  ASSERT_EQ(::truncate(path_of("a").c_str(), 0), 0);
  const auto beside = read(*other);
  ASSERT_TRUE(beside);
  EXPECT_GT(beside->number, owned->number);
  EXPECT_EQ(one->release(*kept), Released::released);
  EXPECT_EQ(other->release(*beside), Released::released);
  const auto next = write(*other);
  ASSERT_TRUE(next);
  EXPECT_GT(next->number, beside->number);
  ASSERT_EQ(::truncate(path_of("a").c_str(), 0), 0);
  const auto downgraded = take(*other, Mode::shared, 0, next->attempt);
  ASSERT_TRUE(downgraded);
  EXPECT_GT(downgraded->number, next->number);
}

// Promise: S2
TEST_F(FileSharedTest, KilledAnywhereTheNumbersGrowAndNothingStays) {
  std::mt19937_64 random(model::test_seed());
  for (int round = 0; round < 40; ++round) {
    board().stage.store(0);
    model::Process child = model::Process::fork_child([this, round] {
      const auto mine = user();
      std::uint64_t written = board().number.load();
      for (int i = round;; ++i) {
        const bool writes = i % 3 == 0;
        const auto hold = writes ? write(*mine) : read(*mine);
        if (!hold || hold->number <= written) return 1;
        if (writes && hold->number <= board().number.load()) return 1;
        if (writes) written = hold->number;
        board().number.store(std::max(board().number.load(), hold->number));
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
    EXPECT_GE(reader->number, board().number.load());
    EXPECT_GT(hold->number, reader->number);
    board().number.store(hold->number);
  }
}

}  // namespace
}  // namespace mortise::file
