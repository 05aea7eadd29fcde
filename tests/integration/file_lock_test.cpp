// SPDX-License-Identifier: MIT
// Goal: the requests of a backend, on files: who gets the name, under which number, and that
// nothing but the exact hold is freed. Method: several clients in one process, which exclude each
// other through the kernel as processes do.
#include "file/header.hpp"
#include "file/lock_file.hpp"
#include "integration/file_fixture.hpp"

#include <gmock/gmock.h>

#include <dirent.h>

#include <chrono>
#include <set>
#include <vector>

namespace mortise::file {
namespace {

using testing::HasSubstr;

class FileLockTest : public FileTest {};

TEST_F(FileLockTest, TwoClientsExcludeEachOther) {
  const auto first = user();
  const auto second = user();
  const auto hold = first->try_lock("orders/42");
  ASSERT_TRUE(hold);
  EXPECT_FALSE(second->try_lock("orders/42"));
  EXPECT_TRUE(second->try_lock("orders/43"));
  EXPECT_EQ(first->release(*hold), Released::released);
  EXPECT_TRUE(second->try_lock("orders/42"));
}

TEST_F(FileLockTest, TwoAttemptsOfOneClientExcludeEachOther) {
  const auto client = user();
  const auto hold = client->try_lock("orders/42");
  ASSERT_TRUE(hold);
  EXPECT_FALSE(client->try_lock("orders/42"));
  EXPECT_EQ(client->release(*hold), Released::released);
  EXPECT_TRUE(client->try_lock("orders/42"));
}

TEST_F(FileLockTest, BusyTellsTheHolder) {
  const auto first = user();
  const auto second = user();
  const auto taken = first->attempt("orders/42", false, "host:1");
  first->backend().acquire(taken);
  ASSERT_NE(taken->grant().number, 0U);
  for (const auto& client : {first.get(), second.get()}) {
    const auto busy = client->attempt("orders/42", false);
    client->backend().acquire(busy);
    ASSERT_TRUE(busy->done());
    EXPECT_FALSE(busy->failure());
    ASSERT_TRUE(busy->holder());
    EXPECT_EQ(busy->holder()->label, "host:1");
    EXPECT_EQ(busy->holder()->token.value(), taken->grant().number * 1024);
    EXPECT_FALSE(busy->holder()->expires_in);
    EXPECT_FALSE(busy->holder()->waiters);
  }
}

TEST_F(FileLockTest, GrantsHaveNoLeaseAndCountFromTheFirstSending) {
  const auto client = user();
  const Instant before = BootClock::now();
  const auto taken = client->attempt("a", false);
  client->backend().acquire(taken);
  EXPECT_EQ(taken->grant().lease, no_lease);
  EXPECT_GE(taken->grant().counted_from, before);
  EXPECT_LE(taken->grant().counted_from, BootClock::now());
}

TEST_F(FileLockTest, NumbersGrowAcrossClients) {
  std::uint64_t last = 0;
  for (int round = 0; round < 50; ++round) {
    const auto client = user();
    for (int i = 0; i < 3; ++i) {
      const auto hold = client->try_lock("a");
      ASSERT_TRUE(hold);
      EXPECT_GT(hold->number, last);
      EXPECT_LT(hold->number, number_limit);
      last = hold->number;
      client->release(*hold);
    }
  }
}

TEST_F(FileLockTest, NumbersGrowWhereTheClockWentBack) {
  const auto client = user();
  client->release(*client->try_lock("a"));
  const std::uint64_t ahead = number_limit - 10;
  write(path_of("a"), &ahead, sizeof ahead, 16);
  const auto hold = client->try_lock("a");
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->number, ahead + 1);
}

TEST_F(FileLockTest, NumbersEndBelowTheLimit) {
  const auto client = user();
  client->release(*client->try_lock("a"));
  for (const std::uint64_t number : {number_limit - 1, ~std::uint64_t{0}}) {
    write(path_of("a"), &number, sizeof number, 16);
    const Failure why = client->failure_of("a");
    EXPECT_EQ(why.code, Errc::protocol);
    EXPECT_THAT(why.text, HasSubstr(path_of("a")));
    // The failed try holds nothing.
    EXPECT_FALSE(client->holder("a"));
  }
}

TEST_F(FileLockTest, OnlyTheExactHoldIsFreed) {
  const auto client = user();
  const auto other = user();
  const auto hold = client->try_lock("a");
  ASSERT_TRUE(hold);
  HoldId wrong = *hold;
  wrong.number += 1;
  EXPECT_EQ(client->release(wrong), Released::was_lost);
  wrong = *hold;
  wrong.attempt.sequence += 1;
  EXPECT_EQ(client->release(wrong), Released::was_lost);
  wrong = *hold;
  wrong.name = "b";
  EXPECT_EQ(client->release(wrong), Released::was_lost);
  EXPECT_EQ(other->release(*hold), Released::was_lost);
  EXPECT_FALSE(other->try_lock("a"));
  EXPECT_EQ(client->release(*hold), Released::released);
  EXPECT_EQ(client->release(*hold), Released::was_lost);
  EXPECT_TRUE(other->try_lock("a"));
}

TEST_F(FileLockTest, ARepeatedRequestIsTheSameHold) {
  const auto client = user();
  const auto first = client->attempt("a", false);
  client->backend().acquire(first);
  client->backend().acquire(first);
  const auto again = std::make_shared<Acquisition>(first->request());
  client->backend().acquire(again);
  EXPECT_EQ(again->grant().number, first->grant().number);
  EXPECT_EQ(client->release(test::BackendUser::hold_of(*first)), Released::released);
  EXPECT_EQ(client->release(test::BackendUser::hold_of(*again)), Released::was_lost);
}

TEST_F(FileLockTest, RenewalsAnswerForTheHold) {
  const auto client = user();
  const auto hold = client->try_lock("a");
  HoldId wrong = *hold;
  wrong.number += 1;
  HoldId unknown = *hold;
  unknown.name = "b";
  const auto renewal = std::make_shared<Renewal>(
      std::vector<Renewal::Item>{{.hold = *hold}, {.hold = wrong}, {.hold = unknown}});
  client->backend().renew(renewal);
  ASSERT_TRUE(renewal->done());
  EXPECT_EQ(renewal->items()[0].answer, Renewal::Answer::renewed);
  EXPECT_EQ(renewal->items()[0].granted, no_lease);
  EXPECT_EQ(renewal->items()[1].answer, Renewal::Answer::lost);
  EXPECT_EQ(renewal->items()[2].answer, Renewal::Answer::lost);
}

TEST_F(FileLockTest, InspectionTakesNothingAndMakesNoFile) {
  const auto first = user();
  const auto second = user();
  EXPECT_FALSE(second->holder("a"));
  EXPECT_FALSE(exists(path_of("a")));
  const auto hold = first->try_lock("a");
  ASSERT_TRUE(hold);
  for (const auto& client : {first.get(), second.get()}) {
    const auto holder = client->holder("a");
    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->label, "test");
    EXPECT_EQ(holder->token.value(), hold->number * 1024);
  }
  first->release(*hold);
  EXPECT_FALSE(first->holder("a"));
  EXPECT_FALSE(second->holder("a"));
}

TEST_F(FileLockTest, NamesOfEveryByteAreDifferentLocks) {
  const auto client = user();
  const auto other = user();
  std::vector<HoldId> holds;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string name{'n', static_cast<char>(byte), 'n'};
    const auto hold = client->try_lock(name);
    ASSERT_TRUE(hold) << byte;
    EXPECT_FALSE(other->try_lock(name)) << byte;
    holds.push_back(*hold);
  }
  for (const HoldId& hold : holds) EXPECT_EQ(client->release(hold), Released::released);
}

TEST_F(FileLockTest, LongNamesAreDifferentLocks) {
  const auto client = user();
  const auto other = user();
  const std::string name(longest_name, 'x');
  std::string alike = name;
  alike.back() = 'y';
  EXPECT_TRUE(client->try_lock(name));
  EXPECT_TRUE(client->try_lock(alike));
  EXPECT_FALSE(other->try_lock(name));
  EXPECT_EQ(client->failure_of(name + "x").code, Errc::misconfigured);
  EXPECT_EQ(client->failure_of("").code, Errc::misconfigured);
}

TEST_F(FileLockTest, FilesAreOursAloneAndStay) {
  const auto client = user();
  const auto hold = client->try_lock("a");
  const struct stat before = status(path_of("a"));
  EXPECT_EQ(before.st_mode & 07777U, 0600U);
  EXPECT_EQ(before.st_size, static_cast<off_t>(file_size));
  EXPECT_GE(before.st_blocks * 512, static_cast<blkcnt_t>(file_size));
  client->release(*hold);
  client->backend().stop();
  EXPECT_EQ(status(path_of("a")).st_ino, before.st_ino);
}

TEST_F(FileLockTest, AnUnknownModeIsUnsupported) {
  const auto client = user();
  Acquisition::Request request = client->attempt("a", false)->request();
  // The latter two want to know more than is said here.
  for (const Mode mode : {static_cast<Mode>(77), Mode::once, Mode::permit}) {
    request.mode = mode;
    const auto operation = std::make_shared<Acquisition>(request);
    client->backend().acquire(operation);
    EXPECT_EQ(operation->failure().code, Errc::unsupported);
  }
}

TEST_F(FileLockTest, CheckLeavesOneFileOfOnePage) {
  const auto client = user();
  for (int i = 0; i < 3; ++i) {
    const auto check = std::make_shared<Check>();
    client->backend().check(check);
    ASSERT_TRUE(check->done());
    EXPECT_FALSE(check->failure()) << check->failure().text;
  }
  EXPECT_EQ(status(directory() + "/.probe").st_size, static_cast<off_t>(file_size));
}

TEST_F(FileLockTest, CapabilitiesAreHonest) {
  const auto client = user();
  const StoreCapabilities found = client->backend().describe().capabilities;
  EXPECT_EQ(found.leases, Support::no);
  EXPECT_EQ(found.fencing, Support::yes);
  EXPECT_EQ(found.fair, Support::no);
  EXPECT_EQ(found.push_wakeup, Support::yes);
  EXPECT_EQ(found.one_wake, Support::yes);
  EXPECT_EQ(found.survives_restart, Support::yes);
  EXPECT_EQ(found.survives_failover, Support::no);
  EXPECT_EQ(found.shared_mode, Support::yes);
  EXPECT_EQ(found.permits, Support::yes);
  EXPECT_EQ(client->backend().describe().name, "file " + directory());
}

TEST_F(FileLockTest, GrantsWithAFlushAreGrants) {
  Settings flushed = settings();
  flushed.flush = true;
  const auto client = user(flushed);
  const auto other = user();
  std::uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    const auto hold = client->try_lock("a");
    ASSERT_TRUE(hold);
    EXPECT_GT(hold->number, last);
    last = hold->number;
    EXPECT_FALSE(other->try_lock("a"));
    EXPECT_EQ(client->release(*hold), Released::released);
  }
}

TEST_F(FileLockTest, StopFreesHoldsAndEndsWaits) {
  const auto first = user();
  const auto second = user();
  ASSERT_TRUE(first->try_lock("a"));
  ASSERT_TRUE(second->try_lock("b"));
  const auto waiting = second->attempt("a", true);
  second->backend().acquire(waiting);
  EXPECT_EQ(waiting->progress(), Acquisition::Progress::queued);
  second->backend().stop();
  ASSERT_TRUE(waiting->done());
  EXPECT_EQ(waiting->failure().code, Errc::closed);
  EXPECT_TRUE(first->try_lock("b"));
  EXPECT_EQ(second->failure_of("c").code, Errc::closed);
  EXPECT_FALSE(second->try_lock("b"));
}

TEST_F(FileLockTest, CancelLeavesNoEffect) {
  const auto first = user();
  const auto second = user();
  const auto hold = first->try_lock("a");
  const auto waiting = second->attempt("a", true);
  second->backend().acquire(waiting);
  second->backend().cancel(waiting);
  ASSERT_TRUE(waiting->done());
  EXPECT_FALSE(waiting->failure());
  EXPECT_EQ(waiting->grant().number, 0U);
  ASSERT_TRUE(waiting->holder());
  EXPECT_EQ(waiting->holder()->label, "test");
  second->backend().cancel(waiting);
  first->release(*hold);
  EXPECT_TRUE(first->try_lock("a"));
}

// How many descriptors of this process lead into the directory.
std::size_t open_files(const std::string& directory) {
  std::size_t count = 0;
  DIR* fds = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(fds)) {
    char target[512];
    const std::string link = std::string("/proc/self/fd/") + entry->d_name;
    const ssize_t size = ::readlink(link.c_str(), target, sizeof target);
    if (size > 0 &&
        std::string_view(target, static_cast<std::size_t>(size)).starts_with(directory)) {
      ++count;
    }
  }
  ::closedir(fds);
  return count;
}

TEST_F(FileLockTest, IdleNamesAreClosedLeastRecentlyUsedFirst) {
  Settings few = settings();
  few.most_idle = 8;
  auto client = std::make_unique<test::BackendUser>(std::make_unique<FileBackend>(few));
  const auto held = client->try_lock("held");
  for (int i = 0; i < 100; ++i) {
    client->release(*client->try_lock("name" + std::to_string(i)));
    client->release(*client->try_lock("often"));
    ASSERT_LE(open_files(directory()), 10U);
  }
  const struct stat before = status(path_of("often"));
  EXPECT_GE(open_files(directory()), 5U);
  // The one in use was never closed: its lock stands.
  EXPECT_FALSE(user()->try_lock("held"));
  EXPECT_EQ(client->release(*held), Released::released);
  EXPECT_EQ(status(path_of("often")).st_ino, before.st_ino);
  client->backend().stop();
  EXPECT_EQ(open_files(directory()), 0U);
}

TEST_F(FileLockTest, TheDirectorysSourceGoesWithTheClient) {
  const auto client = user();
  EXPECT_EQ(client->host().sources(), 0U);
  const auto hold = client->try_lock("a");
  EXPECT_EQ(client->host().sources(), 1U);
  client->backend().stop();
  EXPECT_EQ(client->host().sources(), 0U);
}

}  // namespace
}  // namespace mortise::file
