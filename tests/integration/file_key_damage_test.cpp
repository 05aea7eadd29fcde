// SPDX-License-Identifier: MIT
// Goal: what people, programs and full disks do to the files of keys never lets an outcome be
// recorded for nobody, never has a damaged one told, and what is over is removed at a bounded cost
// without a number falling back. Method: do it, before and during a run.
#include "file/sweep.hpp"
#include "integration/file_key_fixture.hpp"
#include "support/eventually.hpp"
#include "support/private_mounts.hpp"

#include <gmock/gmock.h>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

namespace mortise::file {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class FileKeyDamageTest : public FileKeyTest {
 protected:
  [[nodiscard]] std::size_t files() const {
    std::size_t out = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory())) {
      if (entry.path().extension() == ".once") ++out;
    }
    return out;
  }
  void expect_damage_told(KeyUser& client) {
    const auto asked = client.ask("a", KeyUser::a_day());
    EXPECT_EQ(asked->failure().code, Errc::protocol);
    EXPECT_THAT(asked->failure().text, HasSubstr(path_of_key("a")));
    EXPECT_THAT(asked->failure().text, HasSubstr("damaged"));
    const auto look = client.recall(Recollection::Kind::look, "a");
    EXPECT_EQ(look->failure().code, Errc::protocol);
    EXPECT_THAT(look->failure().text, HasSubstr(path_of_key("a")));
    // By hand it is forgotten, and then runs as the first one.
    EXPECT_TRUE(client.forget("a"));
    const auto run = client.begin("a");
    ASSERT_TRUE(run);
    EXPECT_EQ(run->run, 1U);
    EXPECT_EQ(client.succeed(*run, "new"), Released::released);
    EXPECT_EQ(keys().replay("a")->bytes, "new");
  }
};

// It was on the disk, so that somebody may have been told of it: to run it again is for a person to
// decide.
TEST_F(FileKeyDamageTest, AnOutcomeThatIsDamagedIsNotRunAgain) {
  KeyUser client = keys();
  ASSERT_EQ(client.succeed(*client.begin("a"), "receipt"), Released::released);
  const KeyFile file(path_of_key("a"));
  file.damage(file.newest(), 90);
  expect_damage_told(client);
}

TEST_F(FileKeyDamageTest, ALongOutcomeThatIsDamagedIsNotTold) {
  KeyUser client = keys();
  ASSERT_EQ(client.succeed(*client.begin("a"), std::string(50000, 'x')), Released::released);
  const KeyFile file(path_of_key("a"));
  file.damage_bytes(file.newest(), 49999);
  expect_damage_told(client);
}

TEST_F(FileKeyDamageTest, AnOutcomeThatIsCutOffIsNotTold) {
  KeyUser client = keys();
  ASSERT_EQ(client.succeed(*client.begin("a"), std::string(50000, 'x')), Released::released);
  ASSERT_EQ(::truncate(path_of_key("a").c_str(), 30000), 0);
  expect_damage_told(client);
}

TEST_F(FileKeyDamageTest, AFileThatIsTruncatedWhileItRunsRecordsNothing) {
  KeyUser client = keys();
  const auto run = client.begin("a");
  ASSERT_EQ(::truncate(path_of_key("a").c_str(), 0), 0);
  EXPECT_FALSE(keys().begin("a")) << "it still runs";
  EXPECT_EQ(client.succeed(*run, "x"), Released::was_lost);
  const auto again = client.begin("a");
  ASSERT_TRUE(again);
  EXPECT_GT(again->hold.number, run->hold.number);
  EXPECT_EQ(client.succeed(*again, "y"), Released::released);
  EXPECT_EQ(keys().replay("a")->bytes, "y");
}

TEST_F(FileKeyDamageTest, ADeletedFileIsALostRun) {
  KeyUser client = keys();
  KeyUser other = keys();
  const auto run = client.begin("a");
  ASSERT_EQ(::unlink(path_of_key("a").c_str()), 0);
  ASSERT_TRUE(client.user().host().poll(5s));
  const auto losses = client.user().host().losses();
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses[0].first.name, "a");
  EXPECT_EQ(losses[0].first.mode, Mode::once);
  EXPECT_THAT(losses[0].second.text, HasSubstr(path_of_key("a")));
  const auto theirs = other.begin("a");
  ASSERT_TRUE(theirs);
  EXPECT_EQ(client.succeed(*run, "x"), Released::was_lost);
  EXPECT_EQ(other.succeed(*theirs, "y"), Released::released);
  EXPECT_EQ(client.replay("a")->bytes, "y");
}

// Promise: O2
TEST_F(FileKeyDamageTest, AConclusionFindsADeletedFileByItself) {
  KeyUser client = keys();
  const auto run = client.begin("a");
  ASSERT_EQ(::unlink(path_of_key("a").c_str()), 0);
  EXPECT_EQ(client.succeed(*run, "x"), Released::was_lost);
  EXPECT_EQ(client.look("a").state, KeyState::absent);
}

// The client has it open, as one that has run it lately.
TEST_F(FileKeyDamageTest, AnOutcomeInADeletedFileIsNotTold) {
  KeyUser client = keys();
  ASSERT_EQ(client.succeed(*client.begin("a"), "x"), Released::released);
  ASSERT_EQ(::unlink(path_of_key("a").c_str()), 0);
  const auto run = client.begin("a");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->run, 1U);
}

TEST_F(FileKeyDamageTest, ForeignContentIsRefusedAndKept) {
  write(path_of_key("a"), "hello", 5);
  KeyUser client = keys();
  EXPECT_EQ(client.ask("a", KeyUser::a_day())->failure().code, Errc::protocol);
  EXPECT_EQ(client.recall(Recollection::Kind::look, "a")->failure().code, Errc::protocol);
  EXPECT_EQ(client.recall(Recollection::Kind::forget, "a")->failure().code, Errc::protocol);
  EXPECT_EQ(status(path_of_key("a")).st_size, 5);
}

TEST_F(FileKeyDamageTest, WhatIsNoFileOfThisKeyIsRefusedAndKept) {
  namespace fs = std::filesystem;
  KeyUser other = keys();
  ASSERT_EQ(other.succeed(*other.begin("other"), "receipt"), Released::released);
  const std::string path = path_of_key("a");
  const std::string theirs = path_of_key("other");
  write(directory() + "/stranger", "hello", 5);
  const std::function<void()> strangers[] = {
      [&] { fs::create_symlink(directory() + "/stranger", path); },
      [&] { fs::create_symlink(directory() + "/nowhere", path); },
      [&] { fs::create_hard_link(directory() + "/stranger", path); },
      [&] { fs::create_directory(path); },
      [&] { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); },
      [&] { fs::copy_file(theirs, path); },  // of another key
      [&] { write(path, std::string(200'000, '\xff').c_str(), 200'000); },
  };
  for (const auto& make : strangers) {
    make();
    const struct stat before = status(path);
    KeyUser client = keys();
    const auto expect_refused = [&](const Operation& asked) {
      EXPECT_EQ(asked.failure().code, Errc::protocol) << asked.failure().text;
      EXPECT_THAT(asked.failure().text, HasSubstr(path));
    };
    expect_refused(*client.ask("a", KeyUser::a_day()));
    expect_refused(*client.recall(Recollection::Kind::look, "a"));
    expect_refused(*client.recall(Recollection::Kind::forget, "a"));
    const struct stat after = status(path);
    EXPECT_EQ(after.st_ino, before.st_ino);
    EXPECT_EQ(after.st_size, before.st_size);
    fs::remove(path);
    // Nothing of it stays in this client's mind.
    const auto run = client.begin("a");
    ASSERT_TRUE(run);
    EXPECT_EQ(client.give_back(*run), Released::released);
    fs::remove(path);
  }
  EXPECT_EQ(status(directory() + "/stranger").st_size, 5);
  EXPECT_FALSE(fs::exists(directory() + "/nowhere"));
  EXPECT_EQ(other.replay("other")->bytes, "receipt");
}

TEST_F(FileKeyDamageTest, AFullDiskIsToldAndNothingIsRecorded) {
  const std::string path = directory() + "/mounted";
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  const test::TmpfsMount mount(path, "size=96k,mode=0700");
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  KeyUser client = keys({.directory = path});
  const auto long_one = client.begin("long");
  const auto short_one = client.begin("short");
  ASSERT_TRUE(long_one);
  ASSERT_TRUE(short_one);
  const std::string filler(4096, 'x');
  const int fd = ::open((path + "/filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  for (off_t at = 0; ::pwrite(fd, filler.data(), filler.size(), at) > 0;) at += 4096;
  const auto said = client.end(*long_one, KeyState::succeeded, std::string(65536, 'r'));
  EXPECT_EQ(said->failure().code, Errc::exhausted);
  EXPECT_THAT(said->failure().text, HasSubstr(path + "/long.once"));
  EXPECT_EQ(client.look("long").state, KeyState::pending);
  EXPECT_FALSE(client.look("long").held);
  // What fits beside the record needs no room.
  EXPECT_EQ(client.succeed(*short_one, std::string(300, 's')), Released::released);
  EXPECT_EQ(client.replay("short")->bytes, std::string(300, 's'));
  EXPECT_EQ(client.ask("new", KeyUser::a_day())->failure().code, Errc::exhausted);
  ASSERT_EQ(::ftruncate(fd, 0), 0);
  ::close(fd);
  const auto again = client.begin("long");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->run, 2U);
  EXPECT_EQ(client.succeed(*again, std::string(65536, 'r')), Released::released);
  EXPECT_EQ(client.replay("long")->bytes, std::string(65536, 'r'));
  EXPECT_TRUE(client.begin("new"));
}

TEST_F(FileKeyDamageTest, WhatIsOverIsRemovedByThoseWhoComeBy) {
  constexpr int many = 100;
  const Memory brief{.keep = 1ms};
  KeyUser client = keys();
  for (int i = 0; i < many; ++i) {
    ASSERT_EQ(client.succeed(*client.begin("brief" + std::to_string(i), brief), "x"),
              Released::released);
  }
  ASSERT_EQ(client.succeed(*client.begin("long"), "kept"), Released::released);
  const auto pending = client.begin("held", brief);
  ASSERT_TRUE(pending);
  KeyUser other = keys();
  EXPECT_TRUE(test::eventually([&] {
    const auto run = other.begin("comes by");
    if (run) other.give_back(*run);
    return files() == 3;
  }));
  EXPECT_EQ(keys().replay("long")->bytes, "kept");
  EXPECT_EQ(client.succeed(*pending, "x"), Released::released) << "it was held all the time";
  EXPECT_TRUE(client.user().host().losses().empty());
}

TEST_F(FileKeyDamageTest, OneCallRemovesAFewOnly) {
  const Memory brief{.keep = 1ms};
  {
    KeyUser client = keys();
    for (int i = 0; i < 40; ++i) {
      const auto run = client.begin("brief" + std::to_string(i), {.keep = 1h});
      ASSERT_TRUE(run);
      ASSERT_EQ(client.give_back(*run), Released::released);
      ASSERT_TRUE(client.forget("brief" + std::to_string(i)));
    }
  }
  const Directory folder(directory(), false);
  NumberFloor floor(folder, false);
  Sweep sweep(folder, floor);
  const std::size_t before = files();
  ASSERT_GT(before, 20U);
  sweep.some();
  EXPECT_EQ(files(), before - Sweep::keys_at_once);
  sweep.some();
  EXPECT_EQ(files(), before - 2 * Sweep::keys_at_once);
}

// Promise: O4
TEST_F(FileKeyDamageTest, ARemovedKeyIsAbsentAndItsNumbersGrow) {
  KeyUser client = keys();
  const auto first = client.begin("a");
  ASSERT_EQ(client.succeed(*first, "x"), Released::released);
  // A clock that was ahead then, and was set back.
  const std::uint64_t ahead = first->hold.number + 1'000'000'000'000;
  write(path_of_key("a"), &ahead, sizeof ahead, 16);
  ASSERT_TRUE(client.forget("a"));
  const Directory folder(directory(), false);
  NumberFloor floor(folder, false);
  Sweep(folder, floor).some();
  ASSERT_EQ(files(), 0U);
  EXPECT_EQ(client.look("a").state, KeyState::absent);
  // By the client that has the removed file open, and by another one.
  for (int i = 0; i < 2; ++i) {
    KeyUser user = i == 0 ? client : keys();
    const auto run = user.begin(i == 0 ? "a" : "b");
    ASSERT_TRUE(run);
    EXPECT_EQ(run->run, 1U);
    EXPECT_GT(run->hold.number, ahead);
  }
}

TEST_F(FileKeyDamageTest, OthersFilesAreNotRemoved) {
  write(directory() + "/theirs.once", "hello", 5);
  KeyUser client = keys();
  ASSERT_EQ(client.user().release(*client.user().try_lock("a")), Released::released);
  const Directory folder(directory(), false);
  NumberFloor floor(folder, false);
  Sweep(folder, floor).some();
  EXPECT_TRUE(exists(directory() + "/theirs.once"));
  EXPECT_TRUE(exists(path_of("a")));
}

// Until when it is kept stands in its modification time, so that the next one does not open it.
TEST_F(FileKeyDamageTest, AFileIsOpenedOnceByThoseWhoSweep) {
  KeyUser client = keys();
  ASSERT_EQ(client.succeed(*client.begin("a"), "x"), Released::released);
  const Directory folder(directory(), false);
  NumberFloor floor(folder, false);
  Sweep(folder, floor).some();
  const std::int64_t due = KeyFile(path_of_key("a")).newest().keep_until;
  const struct stat found = status(path_of_key("a"));
  EXPECT_EQ(found.st_mtim.tv_sec * 1000 + found.st_mtim.tv_nsec / 1'000'000, due);
  EXPECT_EQ(client.replay("a")->bytes, "x");
}

}  // namespace
}  // namespace mortise::file
