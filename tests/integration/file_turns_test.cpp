// SPDX-License-Identifier: MIT
// Goal: neither readers nor writers wait for ever, and no wake-up is lost. Method: clients that ask
// in a given order, threads that never ask again, writers that are killed or stopped as they wait.
#include "base/unique_fd.hpp"
#include "file/lock_bytes.hpp"
#include "file/lock_file.hpp"
#include "integration/file_sharing_fixture.hpp"
#include "model/seed.hpp"
#include "support/asleep.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <csignal>
#include <random>
#include <vector>

namespace mortise::file {
namespace {

using namespace std::chrono_literals;

class FileTurnsTest : public FileSharingTest {};

// Promise: L5
TEST_F(FileTurnsTest, ReadersThatComeWaitBehindAWriterThatWaits) {
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

// Promise: L5
TEST_F(FileTurnsTest, AReaderWaitsForOneWriterOnly) {
  const auto reading = user();
  const auto one = user();
  const auto two = user();
  const auto late = user();
  // Each turn is another one, and not the first alone.
  const auto before = write(*late);
  ASSERT_TRUE(before);
  EXPECT_EQ(late->release(*before), Released::released);
  const auto hold = read(*reading);
  ASSERT_TRUE(hold);
  const Attempt first = waits(*one, Mode::exclusive);
  const auto patient = user();
  const Attempt reader = waits(*patient, Mode::shared);
  const auto as_patient = user();
  const Attempt along = waits(*as_patient, Mode::shared);
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
  as_patient->backend().acquire(along);
  ASSERT_TRUE(granted(along)) << "the last grant before it was to a reader";
  EXPECT_EQ(as_patient->release(User::hold_of(*along)), Released::released);
  two->backend().acquire(second);
  EXPECT_FALSE(second->done());
  EXPECT_EQ(patient->release(User::hold_of(*reader)), Released::released);
  two->backend().acquire(second);
  ASSERT_TRUE(granted(second));
  EXPECT_GT(reader->grant().number, first->grant().number);
  EXPECT_GT(second->grant().number, reader->grant().number);
}

TEST_F(FileTurnsTest, AReaderThatFoundAnOwnerGoesBeforeTheNextOne) {
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

// It knows of a writer that waits, and does not try for the name before it has looked for one.
TEST_F(FileTurnsTest, AReaderThatKnowsOfAWriterSeesTheOwnerToo) {
  const auto reading = user();
  const auto patient = user();
  const auto one = user();
  const auto two = user();
  const auto hold = read(*reading);
  ASSERT_TRUE(hold);
  const Attempt first = waits(*one, Mode::exclusive);
  EXPECT_FALSE(read(*patient));
  EXPECT_EQ(reading->release(*hold), Released::released);
  one->backend().acquire(first);
  ASSERT_TRUE(granted(first));
  const Attempt second = waits(*two, Mode::exclusive);
  const Attempt reader = waits(*patient, Mode::shared);
  EXPECT_TRUE(served(*patient, reader, [&] { one->release(User::hold_of(*first)); }));
  two->backend().cancel(second);
}

// Promise: L1
TEST_F(FileTurnsTest, AWaitingWriterThatIsKilledKeepsNoReaderOut) {
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

TEST_F(FileTurnsTest, AWaitingWriterThatIsStoppedKeepsReadersOutForAWhileOnly) {
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

TEST_F(FileTurnsTest, AReleaseOfAnOwnerWakesAllReaders) {
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

// The owner's release wakes one: a writer that is stopped, and does nothing with it.
// The release wakes one of them, and that one the other.
TEST_F(FileTurnsTest, WhoReadsFirstAfterAnOwnerWakesTheOtherReaders) {
  const auto owner = user();
  const auto hold = write(*owner);
  ASSERT_TRUE(hold);
  const auto one = user();
  const auto other = user();
  const Attempt first = waits(*one, Mode::shared);
  const Attempt second = waits(*other, Mode::shared);
  EXPECT_TRUE(served(*one, first, [&] {
    EXPECT_TRUE(
        served(*other, second, [&] { EXPECT_EQ(owner->release(*hold), Released::released); }));
  }));
}

// The last grant was to a reader, so whoever is woken alone and reads wakes nobody.
TEST_F(FileTurnsTest, AnOwnerThatIsNotGrantedWakesAllWhoSleep) {
  // It has the lock, and can write nothing.
  model::Process child = model::Process::fork_child([this] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit nothing{};
    if (!reaches(1) || ::setrlimit(RLIMIT_FSIZE, &nothing) != 0) return 1;
    const auto mine = user();
    const Attempt attempt = request(*mine, Mode::exclusive, false);
    mine->backend().acquire(attempt);
    if (!attempt->done() || attempt->grant().number != 0) return 2;
    // It tries once more without its idle files, when those who were woken may have the lock: then
    // it is busy.
    return !attempt->failure() || attempt->failure().code == Errc::exhausted ? 0 : 3;
  });
  const auto before = user();
  const auto hold = read(*before);
  ASSERT_TRUE(hold);
  EXPECT_EQ(before->release(*hold), Released::released);
  const base::UniqueFd raw =
      base::UniqueFd::open([&] { return ::open(path_of("a").c_str(), O_RDWR | O_CLOEXEC); });
  bool locked = false;
  ASSERT_EQ(try_lock_bytes(raw.get(), owned_bytes, ByteLock::exclusive, locked), 0);
  ASSERT_TRUE(locked);
  const auto one = user();
  const auto other = user();
  const Attempt first = waits(*one, Mode::shared);
  const Attempt second = waits(*other, Mode::shared);
  EXPECT_TRUE(served(*one, first, [&] {
    EXPECT_TRUE(served(*other, second, [&] {
      EXPECT_EQ(unlock_bytes(raw.get(), owned_bytes), 0);
      board().stage.store(1);
    }));
  }));
  const auto exit = child.wait_for(std::chrono::milliseconds(soon));
  EXPECT_TRUE(exit && exit->code == 0);
}

// Its own release has woken the first of two writers; it comes before the second.
TEST_F(FileTurnsTest, AReaderThatLeavesTheTurnToAnotherOneWaitsForThatOneOnly) {
  const auto client = user();
  const auto one = user();
  const auto two = user();
  const auto hold = read(*client);
  ASSERT_TRUE(hold);
  const Attempt first = waits(*one, Mode::exclusive);
  const Attempt second = waits(*two, Mode::exclusive);
  const Attempt again = request(*client, Mode::shared, true);
  ASSERT_TRUE(served(*one, first, [&] {
    EXPECT_EQ(client->release(*hold), Released::released);
    client->backend().acquire(again);
  }));
  ASSERT_FALSE(again->done());
  EXPECT_EQ(one->release(User::hold_of(*first)), Released::released);
  client->backend().acquire(again);
  EXPECT_TRUE(granted(again)) << "it waits for the second one as well";
  two->backend().cancel(second);
}

TEST_F(FileTurnsTest, AnOwnerThatHasReadWakesAllReadersInTheEnd) {
  const auto mine = user();
  const auto owned = write(*mine);
  ASSERT_TRUE(owned);
  const auto kept = take(*mine, Mode::shared, 0, owned->attempt);
  ASSERT_TRUE(kept);
  EXPECT_EQ(mine->release(*kept), Released::released);
  const auto one = user();
  const auto other = user();
  const Attempt first = waits(*one, Mode::shared);
  const Attempt second = waits(*other, Mode::shared);
  EXPECT_TRUE(served(*one, first,
                     [&] { EXPECT_TRUE(served(*other, second, [&] { mine->release(*owned); })); }));
}

TEST_F(FileTurnsTest, AClientThatIsClosedWakesThoseWhoWaitForItsWriterAlone) {
  const auto first = user();
  const auto hold = read(*first);
  ASSERT_TRUE(hold);
  auto writes = user();
  const Attempt writer = waits(*writes, Mode::exclusive);
  const auto client = user();
  const Attempt reader = waits(*client, Mode::shared);
  EXPECT_TRUE(served(*client, reader, [&] { writes.reset(); }));
  EXPECT_EQ(writer->failure().code, Errc::closed);
}

TEST_F(FileTurnsTest, AWriterThatGivesUpWakesThoseWhoWaitForItAlone) {
  const auto first = user();
  const auto hold = read(*first);
  ASSERT_TRUE(hold);
  const auto writes = user();
  const Attempt writer = waits(*writes, Mode::exclusive);
  const auto client = user();
  const Attempt reader = waits(*client, Mode::shared);
  EXPECT_TRUE(served(*client, reader, [&] { writes->backend().cancel(writer); }));
}

TEST_F(FileTurnsTest, AnOwnerThatGoesOnAsAReaderWakesTheReaders) {
  const auto mine = user();
  const auto owned = write(*mine);
  ASSERT_TRUE(owned);
  const auto kept = take(*mine, Mode::shared, 0, owned->attempt);
  ASSERT_TRUE(kept);
  const auto client = user();
  const Attempt reader = waits(*client, Mode::shared);
  EXPECT_TRUE(served(*client, reader, [&] { mine->release(*owned); }));
}

TEST_F(FileTurnsTest, ARenewalTellsThatAWriterWaits) {
  const auto mine = user();
  const auto other = user();
  const auto hold = read(*mine);
  ASSERT_TRUE(hold);
  const auto wanted = [&] {
    const auto renewal = std::make_shared<Renewal>(std::vector<Renewal::Item>{{.hold = *hold}});
    mine->backend().renew(renewal);
    EXPECT_EQ(renewal->items()[0].answer, Renewal::Answer::renewed);
    return renewal->items()[0].wanted;
  };
  EXPECT_FALSE(wanted());
  const Attempt writer = waits(*other, Mode::exclusive);
  EXPECT_TRUE(wanted());
  other->backend().cancel(writer);
  EXPECT_FALSE(wanted());
}

TEST_F(FileTurnsTest, WhoFindsAnotherOneDrawingComesAgain) {
  const auto client = user();
  const Directory place(directory(), false);
  std::shared_ptr<LockFile> file;
  ASSERT_FALSE(LockFile::open(place, "a", file));
  bool locked = false;
  ASSERT_FALSE(file->try_lock(drawing_byte, locked));
  ASSERT_TRUE(locked);
  EXPECT_FALSE(read(*client));
  const Attempt reader = waits(*client, Mode::shared);
  const std::uint32_t before = file->word();
  EXPECT_FALSE(client->wait(reader, 50ms));
  EXPECT_LE(file->word() - before, 2 * WakeWord::step) << "it wakes all, each millisecond";
  file->unlock(drawing_byte);
  ASSERT_TRUE(client->wait(reader, soon));
  EXPECT_TRUE(granted(reader));
}

// Promise: S1, S2
TEST_F(FileTurnsTest, NoWakeUpIsLostAndNobodyMeetsAWriter) {
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

}  // namespace
}  // namespace mortise::file
