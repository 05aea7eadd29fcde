// SPDX-License-Identifier: MIT
// Goal: never more hold a permit than there are, of whichever processes; whoever dies gives its own
// back, and one that comes free wakes one who waits. Method: clients in a given order, threads that
// never ask again, children that are killed, or outlived by children of their own.
#include "file/lock_file.hpp"
#include "integration/file_sharing_fixture.hpp"
#include "support/asleep.hpp"

#include <sys/syscall.h>

#include <csignal>
#include <set>
#include <string>
#include <vector>

namespace mortise::file {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t two = 2;

class FilePermitTest : public FileSharingTest {
 protected:
  static std::optional<HoldId> permit(User& user, std::uint32_t of = two) {
    return take(user, Mode::permit, of);
  }
};

// Promise: S3
TEST_F(FilePermitTest, AKilledHolderGivesItsPermitBackAtOnce) {
  const auto client = user();
  const auto first = permit(*client);
  ASSERT_TRUE(first);
  model::Process child =
      model::Process::fork_child(holding(Mode::permit, two, [](auto&, auto&) { for_ever(); }));
  ASSERT_TRUE(reaches(1));
  EXPECT_GT(board().number.load(), first->number);
  EXPECT_FALSE(permit(*client));
  child.kill();
  const auto second = permit(*client);
  ASSERT_TRUE(second);
  EXPECT_GT(second->number, board().number.load());
  EXPECT_FALSE(permit(*client));
}

// Promise: S9
TEST_F(FilePermitTest, AForkedChildKeepsNoPermit) {
  const auto client = user();
  model::Process holder =
      model::Process::fork_child(holding(Mode::permit, 1, [this](auto& mine, auto& hold) {
        if (::fork() == 0) {
          board().pid.store(::getpid());
          const bool silent = mine.release(hold) == Released::unknown && !permit(mine, 1);
          board().stage.store(silent ? 2 : 3);
          const Instant until = BootClock::now() + 2 * soon;
          while (board().stage.load() < 4 && BootClock::now() < until) std::this_thread::yield();
          ::_exit(0);
        }
        for_ever();
      }));
  ASSERT_TRUE(reaches(2));
  EXPECT_EQ(board().stage.load(), 2) << "the child was let in";
  EXPECT_FALSE(permit(*client, 1));
  holder.kill();
  EXPECT_TRUE(permit(*client, 1));
  EXPECT_EQ(::kill(board().pid.load(), 0), 0) << "the child had gone: nothing was tested";
  board().stage.store(4);
}

TEST_F(FilePermitTest, EachOfAClientsIsFreedByItself) {
  const auto mine = user();
  const auto other = user();
  std::vector<HoldId> holds;
  for (int i = 0; i < 5; ++i) {
    const auto hold = permit(*(i % 2 == 0 ? mine : other), 5);
    ASSERT_TRUE(hold);
    holds.push_back(*hold);
  }
  EXPECT_FALSE(permit(*mine, 5));
  EXPECT_FALSE(permit(*other, 5));
  for (std::size_t i : {2U, 1U, 4U}) {
    User& owner = i % 2 == 0 ? *mine : *other;
    EXPECT_EQ(owner.release(holds[i]), Released::released);
    EXPECT_EQ(owner.release(holds[i]), Released::was_lost) << "it ended before";
    const auto again = permit(*(i == 1 ? mine : other), 5);
    ASSERT_TRUE(again) << "one came free";
    EXPECT_GT(again->number, holds.back().number);
    EXPECT_FALSE(permit(*mine, 5));
    EXPECT_FALSE(permit(*other, 5));
  }
}

TEST_F(FilePermitTest, AnotherNumberIsRefusedAsLongAsSomebodyHolds) {
  const auto mine = user();
  const auto other = user();
  const auto hold = permit(*mine);
  ASSERT_TRUE(hold);
  for (User* const each : {mine.get(), other.get()}) {
    const Failure why = failure_of(*each, Mode::permit, 3);
    EXPECT_EQ(why.code, Errc::misconfigured);
    for (const char* const word : {"a:", "has 2", "asks for 3"}) {
      EXPECT_NE(why.text.find(word), std::string::npos) << why.text;
    }
  }
  EXPECT_EQ(mine->release(*hold), Released::released);
  const auto more = permit(*other, 3);
  ASSERT_TRUE(more) << "nobody had one";
  EXPECT_EQ(failure_of(*mine, Mode::permit, two).code, Errc::misconfigured);
  EXPECT_EQ(other->release(*more), Released::released);
  EXPECT_TRUE(permit(*mine, 1));
}

TEST_F(FilePermitTest, AnotherNumberIsRefusedAsLongAsSomebodyWaits) {
  const auto mine = user();
  const auto other = user();
  const auto third = user();
  const auto hold = permit(*mine, 1);
  ASSERT_TRUE(hold);
  const Attempt waiting = waits(*other, Mode::permit, 1);
  EXPECT_EQ(mine->release(*hold), Released::released);
  EXPECT_EQ(failure_of(*third, Mode::permit, two).code, Errc::misconfigured);
  EXPECT_EQ(failure_of(*other, Mode::permit, two).code, Errc::misconfigured);
  other->backend().cancel(waiting);
  EXPECT_TRUE(permit(*third));
}

TEST_F(FilePermitTest, ADeadProcessKeepsNoNumberUp) {
  const auto client = user();
  model::Process child =
      model::Process::fork_child(holding(Mode::permit, two, [](auto&, auto&) { for_ever(); }));
  ASSERT_TRUE(reaches(1));
  EXPECT_EQ(failure_of(*client, Mode::permit, 3).code, Errc::misconfigured);
  child.kill();
  EXPECT_TRUE(permit(*client, 3));
}

TEST_F(FilePermitTest, OneThatComesFreeWakesAnotherProcess) {
  const auto client = user();
  const auto first = permit(*client);
  const auto second = permit(*client);
  ASSERT_TRUE(first && second);
  model::Process child = model::Process::fork_child([this] {
    const auto mine = user();
    const Attempt attempt = request(*mine, Mode::permit, true, two);
    mine->backend().acquire(attempt);
    return mine->wait(attempt, soon) && granted(attempt) ? 0 : 1;
  });
  ASSERT_TRUE(test::falls_asleep(child.pid(), {SYS_futex_waitv, SYS_futex}));
  EXPECT_EQ(client->release(*first), Released::released);
  const auto end = child.wait_for(soon + 5s);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 0);
}

// Promise: S6
TEST_F(FilePermitTest, AllAreLostWithTheirFile) {
  const auto client = user();
  const auto first = permit(*client);
  const auto second = permit(*client);
  ASSERT_TRUE(first && second);
  ASSERT_EQ(::unlink((directory() + "/" + file_name("a", Mode::permit)).c_str()), 0);
  ASSERT_TRUE(client->host().poll(std::chrono::milliseconds(soon)));
  std::set<AttemptId> told;
  for (const auto& [hold, why] : client->host().losses()) {
    EXPECT_EQ(hold.mode, Mode::permit);
    told.insert(hold.attempt);
  }
  EXPECT_EQ(told, (std::set{first->attempt, second->attempt}));
  EXPECT_EQ(client->release(*first), Released::was_lost);
  EXPECT_TRUE(permit(*client));
}

// A new client finds the new file; the old one's holders are told at the latest by their release.
TEST_F(FilePermitTest, ALostOneIsFoundAtItsRelease) {
  const auto client = user();
  const auto hold = permit(*client, 1);
  ASSERT_TRUE(hold);
  ASSERT_EQ(::unlink((directory() + "/" + file_name("a", Mode::permit)).c_str()), 0);
  const auto other = user();
  const auto its = permit(*other, 1);
  ASSERT_TRUE(its);
  EXPECT_FALSE(permit(*client, 1));
  EXPECT_EQ(client->release(*hold), Released::was_lost);
  EXPECT_FALSE(permit(*client, 1)) << "it is another's now";
  EXPECT_EQ(other->release(*its), Released::released);
  EXPECT_TRUE(permit(*client, 1));
}

TEST_F(FilePermitTest, OneOfADeletedFileIsNotGranted) {
  const auto client = user();
  const auto before = permit(*client, 1);
  ASSERT_TRUE(before);
  EXPECT_EQ(client->release(*before), Released::released);
  ASSERT_EQ(::unlink((directory() + "/" + file_name("a", Mode::permit)).c_str()), 0);
  const auto other = user();
  ASSERT_TRUE(permit(*other, 1));
  EXPECT_FALSE(permit(*client, 1)) << "one more than there are";
}

// The old file has changed since it was new, and does not any more.
TEST_F(FilePermitTest, WhoWaitsBesideALostOneSleeps) {
  const auto client = user();
  const auto before = permit(*client, 1);
  ASSERT_TRUE(before);
  EXPECT_EQ(client->release(*before), Released::released);
  const auto hold = permit(*client, 1);
  ASSERT_TRUE(hold);
  ASSERT_EQ(::unlink((directory() + "/" + file_name("a", Mode::permit)).c_str()), 0);
  const Attempt attempt = waits(*client, Mode::permit, 1);
  constexpr std::chrono::milliseconds while_asleep{100};
  const Instant began = BootClock::now();
  client->backend().wait(*attempt, attempt->signal(), while_asleep);
  EXPECT_GE(BootClock::now() - began, while_asleep / 2) << "it asks again and again";
  EXPECT_EQ(client->release(*hold), Released::was_lost);
}

TEST_F(FilePermitTest, AnotherProgramsFileIsLeftAsItIs) {
  const std::string path = directory() + "/" + file_name("a", Mode::permit);
  FileTest::write(path, "something else", 14);
  const auto client = user();
  EXPECT_EQ(failure_of(*client, Mode::permit, two).code, Errc::protocol);
  EXPECT_EQ(status(path).st_size, 14);
}

// Promise: L2
TEST_F(FilePermitTest, WhoFindsAnotherOneDrawingComesAgain) {
  const auto client = user();
  const Directory place(directory(), false);
  std::shared_ptr<LockFile> file;
  ASSERT_FALSE(LockFile::open(place, "a", file, Mode::permit));
  bool locked = false;
  ASSERT_FALSE(file->try_lock(drawing_byte, locked));
  ASSERT_TRUE(locked);
  EXPECT_FALSE(permit(*client));
  const Attempt waiting = waits(*client, Mode::permit, two);
  EXPECT_FALSE(client->wait(waiting, 50ms));
  file->unlock(drawing_byte);
  ASSERT_TRUE(client->wait(waiting, soon));
  EXPECT_TRUE(granted(waiting));
}

// Promise: L2
TEST_F(FilePermitTest, WhoGivesUpWhileAnotherOneDrawsPassesItsWakeUpOn) {
  const auto one = user();
  const auto other = user();
  const auto hold = permit(*one, 1);
  ASSERT_TRUE(hold);
  const Attempt first = waits(*one, Mode::permit, 1);
  const auto third = user();
  const Attempt second = waits(*other, Mode::permit, 1);
  const Directory place(directory(), false);
  std::shared_ptr<LockFile> file;
  ASSERT_FALSE(LockFile::open(place, "a", file, Mode::permit));
  std::atomic<bool> gives_up{false};
  bool locked = false;
  std::thread thread([&] {
    EXPECT_TRUE(one->wait(first, soon)) << "it was cancelled";
    gives_up = true;
  });
  EXPECT_TRUE(served(*other, second, [&] {
    ASSERT_FALSE(file->try_lock(drawing_byte, locked));
    EXPECT_TRUE(locked);
    EXPECT_EQ(one->release(*hold), Released::released);
    // Whichever of them was woken, it looks again and again now.
    std::this_thread::sleep_for(20ms);
    one->backend().cancel(first);
    file->unlock(drawing_byte);
  }));
  thread.join();
  EXPECT_TRUE(gives_up.load());
  EXPECT_FALSE(granted(first));
}

// Promise: S2
TEST_F(FilePermitTest, NoTwoHaveOneNumber) {
  const auto client = user();
  const auto hold = permit(*client, 3);
  ASSERT_TRUE(hold);
  put_the_number_ahead(Mode::permit);
  const auto [all, twice] = draw_at_once(3);
  EXPECT_GT(all, 100U);
  EXPECT_EQ(twice, 0U);
}

// Nobody asks again, so that a wake-up that is lost costs the test its time limit.
// Promise: S1
TEST_F(FilePermitTest, ProcessesNeverHaveMoreThanThereAreAndLoseNoWakeUp) {
  constexpr int most = 3;
  constexpr int each = 300;
  std::vector<model::Process> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(model::Process::fork_child([this] {
      std::vector<std::thread> threads;
      const auto mine = user();
      std::atomic<int> late{0};
      for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
          for (int n = 0; n < each; ++n) {
            const Attempt attempt = request(*mine, Mode::permit, true, most);
            mine->backend().acquire(attempt);
            if (!mine->wait(attempt, soon) || !granted(attempt)) {
              ++late;
              mine->backend().cancel(attempt);
              return;
            }
            if (board().permits.fetch_add(1) >= most) ++board().wrong;
            if (n % 8 == 0) std::this_thread::sleep_for(100us);
            board().permits.fetch_sub(1);
            mine->release(User::hold_of(*attempt));
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      return late.load() == 0 ? 0 : 1;
    }));
  }
  for (model::Process& child : children) {
    const auto end = child.wait_for(60s);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->code, 0) << "a wake-up was lost";
  }
  EXPECT_EQ(board().wrong.load(), 0);
}

}  // namespace
}  // namespace mortise::file
