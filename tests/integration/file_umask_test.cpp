// SPDX-License-Identifier: MIT
// Goal: whatever the umask is, the owner can open what the library has made, and no other user can
// write it. Method: each umask in a child of its own, without root's rights; later processes under
// a sane umask look at what is there.
#include "integration/file_fixture.hpp"
#include "model/process.hpp"

#include <grp.h>

#include <cstdio>
#include <fstream>

namespace mortise::file {
namespace {

constexpr uid_t nobody = 65534;

class FileUmaskTest : public FileTest, public testing::WithParamInterface<mode_t> {
 protected:
  void SetUp() override {
    // Every process of the test must come to the folder.
    ASSERT_EQ(::chmod(directory().c_str(), 0755), 0);
    ASSERT_EQ(::mkdir(parent().c_str(), 0700), 0);
    ASSERT_EQ(::chmod(parent().c_str(), 0700), 0);
    const bool given = ::geteuid() != 0 || ::chown(parent().c_str(), nobody, nobody) == 0;
    ASSERT_TRUE(given);
  }
  [[nodiscard]] std::string parent() const { return directory() + "/parent"; }
  [[nodiscard]] std::string locks() const { return parent() + "/locks"; }
  /// Locks a name as another process would.
  [[nodiscard]] static int locks_once(const Settings& settings, const std::string& name) {
    const auto client = user(settings);
    const auto hold = client->try_lock(name);
    if (!hold) {
      std::printf("%s\n", client->failure_of(name).text.c_str());
      return 2;
    }
    return client->release(*hold) == Released::released ? 0 : 3;
  }
  static int in_child(mode_t umask, const std::function<int()>& body) {
    model::Process child = model::Process::fork_child([&] {
      // Root may open everything; nobody may not.
      if (::geteuid() == 0 &&
          (::setgroups(0, nullptr) != 0 || ::setgid(nobody) != 0 || ::setuid(nobody) != 0)) {
        return 9;
      }
      ::umask(umask);
      return body();
    });
    const auto end = child.wait_for(soon);
    return end && !end->killed() ? end->code : -1;
  }
};

TEST_P(FileUmaskTest, TakesNothingFromTheOwner) {
  const Settings made{.directory = locks(), .create = true};
  EXPECT_EQ(in_child(GetParam(), [&] { return locks_once(made, "a"); }), 0);
  EXPECT_EQ(status(locks()).st_mode & 07777U, 0700U);
  EXPECT_EQ(status(locks() + "/a.lock").st_mode & 07777U, 0600U);
  EXPECT_EQ(in_child(GetParam(), [&] { return locks_once(made, "a"); }), 0);
  EXPECT_EQ(in_child(0022, [&] { return locks_once({.directory = locks()}, "a"); }), 0);
}

// Another process may come between the making of a file and its mode, or the maker may die there.
TEST_P(FileUmaskTest, AFileThatWasLeftWithoutAccessIsOpened) {
  const Settings settings{.directory = locks(), .create = true};
  const auto leave = [&] {
    if (::mkdir(locks().c_str(), 0700) != 0 || ::chmod(locks().c_str(), 0700) != 0) return 1;
    const int fd = ::open((locks() + "/a.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return fd >= 0 && ::close(fd) == 0 ? 0 : 2;
  };
  ASSERT_EQ(in_child(GetParam(), leave), 0);
  EXPECT_EQ(in_child(0022, [&] { return locks_once(settings, "a"); }), 0);
  ASSERT_EQ(in_child(0022, [&] { return ::chmod(locks().c_str(), 0) == 0 ? 0 : 1; }), 0);
  EXPECT_EQ(in_child(0022, [&] { return locks_once(settings, "a"); }), 0);
  EXPECT_EQ(status(locks() + "/a.lock").st_mode & 07777U, 0600U);
}

// Access that the owner of the file has given to its group stays.
TEST_F(FileUmaskTest, TheModeOfAFileThatCanBeOpenedStays) {
  const Settings settings{.directory = locks(), .create = true};
  EXPECT_EQ(in_child(0022, [&] { return locks_once(settings, "a"); }), 0);
  ASSERT_EQ(::chmod((locks() + "/a.lock").c_str(), 0640), 0);
  EXPECT_EQ(in_child(0277, [&] { return locks_once(settings, "a"); }), 0);
  EXPECT_EQ(status(locks() + "/a.lock").st_mode & 07777U, 0640U);
}

// What is refused stays as it is.
TEST_F(FileUmaskTest, TheModeOfAFileWithASecondLinkStays) {
  const Settings settings{.directory = locks(), .create = true};
  EXPECT_EQ(in_child(0022, [&] { return locks_once(settings, "a"); }), 0);
  const std::string file = locks() + "/a.lock";
  EXPECT_EQ(in_child(0022, [&] { return ::link(file.c_str(), (file + "2").c_str()); }), 0);
  ASSERT_EQ(::chmod(file.c_str(), 0400), 0);
  EXPECT_EQ(in_child(0022, [&] { return locks_once(settings, "a"); }), 2);
  EXPECT_EQ(status(file).st_mode & 07777U, 0400U);
}

TEST_F(FileUmaskTest, RootLeavesTheModeOfAnotherProgramsFileAsItIs) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string file = directory() + "/b.lock";
  std::ofstream(file) << "not a lock";
  ASSERT_EQ(::chmod(file.c_str(), 0400), 0);
  EXPECT_EQ(user({.directory = directory()})->failure_of("b").code, Errc::protocol);
  EXPECT_EQ(status(file).st_mode & 07777U, 0400U);
}

INSTANTIATE_TEST_SUITE_P(Umasks, FileUmaskTest, testing::Values(0277U, 0777U, 0077U, 0002U),
                         [](const auto& one) { return "Octal" + std::to_string(one.param); });

}  // namespace
}  // namespace mortise::file
