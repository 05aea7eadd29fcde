// SPDX-License-Identifier: MIT
// Goal: what people and programs do to the files is noticed, told in words that name the file, and
// never breaks the exclusion of those who come later; what has run out is told, and heals. Method:
// do it, before and during a hold.
#include "integration/file_fixture.hpp"
#include "model/process.hpp"
#include "support/private_mounts.hpp"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace mortise::file {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class FileDamageTest : public FileTest {
 protected:
  /// Takes "a", has `damage` done, and checks that the client is told while it holds.
  void expect_told(const std::function<void()>& damage) {
    const auto client = user();
    const auto hold = client->try_lock("a");
    ASSERT_TRUE(hold);
    damage();
    ASSERT_TRUE(client->host().poll(5s));
    const auto losses = client->host().losses();
    ASSERT_EQ(losses.size(), 1U);
    EXPECT_EQ(losses[0].first.name, "a");
    EXPECT_EQ(losses[0].first.attempt, hold->attempt);
    EXPECT_EQ(losses[0].first.number, hold->number);
    EXPECT_EQ(losses[0].second.code, Errc::lost);
    EXPECT_THAT(losses[0].second.text, HasSubstr(path_of("a")));
    EXPECT_EQ(client->release(*hold), Released::was_lost);
    // The name is free for everybody, and everybody excludes everybody again.
    const auto again = client->try_lock("a");
    ASSERT_TRUE(again);
    EXPECT_GT(again->number, hold->number);
    EXPECT_FALSE(user()->try_lock("a"));
    EXPECT_EQ(client->release(*again), Released::released);
    EXPECT_EQ(client->host().losses().size(), 1U);
  }
  /// What a try on a file in this state fails with; it must change nothing and hold nothing.
  void expect_refused(const std::string& words) {
    const auto client = user();
    const Failure why = client->failure_of("a");
    EXPECT_EQ(why.code, Errc::protocol) << why.text;
    EXPECT_THAT(why.text, HasSubstr(path_of("a")));
    EXPECT_THAT(why.text, HasSubstr(words));
    const auto inspection = std::make_shared<Inspection>("a");
    client->backend().inspector()->inspect(inspection);
    EXPECT_EQ(inspection->failure().code, Errc::protocol);
    EXPECT_TRUE(client->try_lock("b"));
  }
  void make(const std::string& name) const {
    const auto client = user();
    client->release(*client->try_lock(name));
  }
};

TEST_F(FileDamageTest, ADeletedFileIsALostHold) {
  expect_told([&] { ASSERT_EQ(::unlink(path_of("a").c_str()), 0); });
}

TEST_F(FileDamageTest, AReplacedFileIsALostHold) {
  expect_told([&] {
    write(directory() + "/other", "", 0);
    ASSERT_EQ(::rename((directory() + "/other").c_str(), path_of("a").c_str()), 0);
  });
}

TEST_F(FileDamageTest, AMovedFileIsALostHold) {
  expect_told(
      [&] { ASSERT_EQ(::rename(path_of("a").c_str(), (directory() + "/away").c_str()), 0); });
}

TEST_F(FileDamageTest, OtherFilesAreNobodysLoss) {
  const auto client = user();
  const auto hold = client->try_lock("a");
  make("b");
  ASSERT_EQ(::unlink(path_of("b").c_str()), 0);
  ASSERT_TRUE(client->host().poll(5s));
  EXPECT_TRUE(client->host().losses().empty());
  EXPECT_EQ(client->release(*hold), Released::released);
}

TEST_F(FileDamageTest, AReplacedDirectoryIsNoticed) {
  const std::string path = directory() + "/locks";
  const auto holder = user({.directory = path, .create = true});
  const auto idle = user({.directory = path});
  const auto hold = holder->try_lock("a");
  idle->release(*idle->try_lock("b"));
  ASSERT_EQ(::rename(path.c_str(), (path + ".old").c_str()), 0);
  ASSERT_TRUE(holder->host().poll(5s));
  EXPECT_EQ(holder->host().losses().size(), 1U);
  EXPECT_EQ(holder->release(*hold), Released::was_lost);

  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  const auto fresh = user({.directory = path});
  ASSERT_TRUE(fresh->try_lock("b"));
  // Its open file is one of the old directory.
  EXPECT_FALSE(idle->try_lock("b"));
  // The new directory is watched as well.
  const auto again = holder->try_lock("a");
  ASSERT_TRUE(again);
  ASSERT_EQ(::unlink((path + "/a.lock").c_str()), 0);
  ASSERT_TRUE(holder->host().poll(5s));
  EXPECT_EQ(holder->host().losses().size(), 2U);
}

TEST_F(FileDamageTest, AReleaseFindsOutByItself) {
  for (const bool deleted : {true, false}) {
    const auto client = user();
    const auto other = user();
    const auto hold = client->try_lock("a");
    ASSERT_TRUE(hold);
    if (deleted) {
      ASSERT_EQ(::unlink(path_of("a").c_str()), 0);
    } else {
      write(directory() + "/other", "", 0);
      ASSERT_EQ(::rename((directory() + "/other").c_str(), path_of("a").c_str()), 0);
    }
    const auto theirs = other->try_lock("a");
    ASSERT_TRUE(theirs);
    EXPECT_GT(theirs->number, hold->number);
    EXPECT_EQ(client->release(*hold), Released::was_lost);
    // It has freed its own lock, not theirs.
    EXPECT_FALSE(client->try_lock("a"));
    EXPECT_EQ(other->release(*theirs), Released::released);
  }
}

// A user name space of its own has limits of its own: to use up those of the real user would
// disturb every other process of it.
bool forbid_inotify() {
  const auto put = [](const char* path, const char* text) {
    const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
    const bool done = fd >= 0 && ::write(fd, text, std::strlen(text)) > 0;
    ::close(fd);
    return done;
  };
  return ::unshare(CLONE_NEWUSER) == 0 && put("/proc/self/uid_map", "0 0 1") &&
         put("/proc/sys/user/max_inotify_instances", "0");
}

TEST_F(FileDamageTest, WithoutInotifyAReleaseFindsOut) {
  constexpr int forbidden_to_try = 77;
  model::Process child = model::Process::fork_child([this] {
    if (!forbid_inotify()) return forbidden_to_try;
    const auto client = user();
    const auto hold = client->try_lock("a");
    if (!hold || client->host().sources() != 0) return 1;
    if (::rename(path_of("a").c_str(), (directory() + "/away").c_str()) != 0) return 2;
    return client->release(*hold) == Released::was_lost ? 0 : 3;
  });
  const auto exit = child.wait_for(soon);
  ASSERT_TRUE(exit);
  if (exit->code == forbidden_to_try) GTEST_SKIP() << "no user name space to be had here";
  EXPECT_EQ(exit->code, 0);
}

TEST_F(FileDamageTest, AWaiterLeavesTheDeletedFile) {
  const auto holder = user();
  const auto hold = holder->try_lock("a");
  const auto client = user();
  const auto attempt = client->attempt("a", true);
  client->backend().acquire(attempt);
  ASSERT_EQ(::unlink(path_of("a").c_str()), 0);
  EXPECT_TRUE(client->wait(attempt, soon, 10ms));
  EXPECT_GT(attempt->grant().number, hold->number);
  EXPECT_FALSE(user()->try_lock("a"));
  EXPECT_EQ(holder->release(*hold), Released::was_lost);
}

TEST_F(FileDamageTest, ForeignContentIsRefusedAndKept) {
  write(path_of("a"), "hello", 5);
  expect_refused("not a lock file");
  EXPECT_EQ(status(path_of("a")).st_size, 5);
  write(path_of("a"), std::string(9000, 'x').data(), 9000);
  expect_refused("not a lock file");
  EXPECT_EQ(status(path_of("a")).st_size, 9000);
}

TEST_F(FileDamageTest, ContentThatIsOverwrittenIsRefused) {
  const auto client = user();
  client->release(*client->try_lock("a"));
  write(path_of("a"), "garbage!", 8);
  // By an open file, and by one that is opened now.
  EXPECT_EQ(client->failure_of("a").code, Errc::protocol);
  expect_refused("not a lock file");
}

TEST_F(FileDamageTest, AnotherLocksFileIsRefused) {
  make("x");
  std::filesystem::copy_file(path_of("x"), path_of("a"));
  expect_refused("another lock name");
  // Emptied, it belongs to nobody, and becomes the file of its own name.
  ASSERT_EQ(::truncate(path_of("a").c_str(), 0), 0);
  make("a");
  EXPECT_TRUE(user()->try_lock("a"));
}

TEST_F(FileDamageTest, WhatIsNoRegularFileIsRefused) {
  const std::string path = path_of("a");
  make("b");
  ASSERT_EQ(::symlink(path_of("b").c_str(), path.c_str()), 0);
  expect_refused("symbolic link");
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", path.c_str()), 0);
  expect_refused("symbolic link");
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  expect_refused("not a regular file");
  ASSERT_EQ(::rmdir(path.c_str()), 0);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expect_refused("not a regular file");
  ASSERT_EQ(::unlink(path.c_str()), 0);
  make("a");
  ASSERT_EQ(::link(path.c_str(), (directory() + "/hard").c_str()), 0);
  expect_refused("link");
  ASSERT_EQ(::unlink((directory() + "/hard").c_str()), 0);
  EXPECT_TRUE(user()->try_lock("a"));
}

TEST_F(FileDamageTest, AnotherUsersFileIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  make("a");
  ASSERT_EQ(::chown(path_of("a").c_str(), 65534, 65534), 0);
  expect_refused("another user");
}

TEST_F(FileDamageTest, AFileTruncatedWhileHeldIsHealed) {
  const auto client = user();
  const auto hold = client->try_lock("a");
  ASSERT_EQ(::truncate(path_of("a").c_str(), 0), 0);
  EXPECT_FALSE(user()->try_lock("a"));
  EXPECT_EQ(client->release(*hold), Released::released);
  const auto again = client->try_lock("a");
  ASSERT_TRUE(again);
  EXPECT_GT(again->number, hold->number);
  EXPECT_EQ(status(path_of("a")).st_size, 4096);
}

TEST_F(FileDamageTest, AFullDiskIsToldAndHeals) {
  const std::string path = directory() + "/mounted";
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  const test::TmpfsMount mount(path, "size=16k,mode=0700");
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  const auto client = user({.directory = path});
  const auto known = client->try_lock("known");
  ASSERT_TRUE(known);
  const std::string filler(4096, 'x');
  const int fd = ::open((path + "/filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  for (off_t at = 0; ::pwrite(fd, filler.data(), filler.size(), at) > 0;) at += 4096;
  for (int i = 0; i < 3; ++i) {
    const Failure why = client->failure_of("new");
    EXPECT_EQ(why.code, Errc::exhausted);
    EXPECT_TRUE(is_retryable(why.code));
    EXPECT_THAT(why.text, HasSubstr(path + "/new.lock"));
  }
  const auto check = std::make_shared<Check>();
  client->backend().check(check);
  EXPECT_EQ(check->failure().code, Errc::exhausted);
  // Names that have their file go on.
  EXPECT_EQ(client->release(*known), Released::released);
  EXPECT_TRUE(client->try_lock("known"));
  ASSERT_EQ(::ftruncate(fd, 0), 0);
  ::close(fd);
  EXPECT_TRUE(client->try_lock("new"));
}

TEST_F(FileDamageTest, TooManyOpenFilesIsToldAndHeals) {
  model::Process child = model::Process::fork_child([this] {
    const auto client = user();
    client->release(*client->try_lock("warm"));
    const rlimit few{.rlim_cur = 40, .rlim_max = 40};
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
    // Idle files are closed to make room, so that this comes to no end...
    for (int i = 0; i < 100; ++i) {
      const auto hold = client->try_lock("idle" + std::to_string(i));
      if (!hold) return 2;
      client->release(*hold);
    }
    // ...and this does.
    std::vector<HoldId> holds;
    for (int i = 0; i < 100; ++i) {
      const auto hold = client->try_lock("held" + std::to_string(i));
      if (!hold) break;
      holds.push_back(*hold);
    }
    if (holds.size() < 10 || holds.size() > 40) return 3;
    const Failure why = client->failure_of("one more");
    std::printf("%s\n", why.text.c_str());
    if (why.code != Errc::exhausted) return 4;
    if (why.text.find(directory()) == std::string::npos) return 5;
    for (std::size_t i = 0; i < 5; ++i) {
      if (client->release(holds[i]) != Released::released) return 6;
    }
    return client->try_lock("one more") ? 0 : 7;
  });
  const auto end = child.wait_for(soon);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 0);
}

}  // namespace
}  // namespace mortise::file
