// SPDX-License-Identifier: MIT
// Goal: a directory in which locks would not exclude, or not be safe, is refused at once, in words
// that name it. Method: each kind of bad directory and bad URL; root's rights are dropped in a
// child.
#include <mortise/file.hpp>

#include "integration/file_fixture.hpp"
#include "model/process.hpp"
#include "support/private_mounts.hpp"

#include <gmock/gmock.h>

#include <grp.h>

#include <cstdio>

namespace mortise::file {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr uid_t nobody = 65534;

Failure refusal(const std::string& url) {
  try {
    static_cast<void>(backend(url));
  } catch (const Error& error) {
    return {error.errc(), error.what()};
  }
  return {};
}

class FileDirectoryTest : public FileTest {
 protected:
  std::string inside(const std::string& name) const { return directory() + "/" + name; }
  std::string made(const std::string& name, mode_t mode = 0700) const {
    EXPECT_EQ(::mkdir(inside(name).c_str(), mode), 0);
    EXPECT_EQ(::chmod(inside(name).c_str(), mode), 0);  // whatever the umask is
    return inside(name);
  }
};

TEST_F(FileDirectoryTest, MissingIsRefusedUnlessCreated) {
  const std::string path = inside("locks");
  const Failure why = refusal("file://" + path);
  EXPECT_EQ(why.code, Errc::misconfigured);
  EXPECT_THAT(why.text, AllOf(HasSubstr(path), HasSubstr("does not exist")));
  EXPECT_FALSE(exists(path));

  const mode_t before = ::umask(0);
  EXPECT_FALSE(refusal("file://" + path + "?create=yes"));
  ::umask(before);
  EXPECT_EQ(status(path).st_mode & 07777U, 0700U);
  EXPECT_FALSE(refusal("file://" + path + "?create=yes"));
  EXPECT_FALSE(refusal("file:" + path + "/?create=no"));
}

TEST_F(FileDirectoryTest, OnlyTheLastComponentIsCreated) {
  const std::string path = inside("a/b");
  const Failure why = refusal("file://" + path + "?create=yes");
  EXPECT_EQ(why.code, Errc::misconfigured);
  EXPECT_THAT(why.text, HasSubstr(path));
  EXPECT_FALSE(exists(inside("a")));
}

TEST_F(FileDirectoryTest, NotADirectoryIsRefused) {
  const std::string path = inside("file");
  write(path, "x", 1);
  for (const char* create : {"", "?create=yes"}) {
    const Failure why = refusal("file://" + path + create);
    EXPECT_EQ(why.code, Errc::misconfigured);
    EXPECT_THAT(why.text, AllOf(HasSubstr(path), HasSubstr("not a directory")));
  }
}

TEST_F(FileDirectoryTest, ASymbolicLinkIsRefused) {
  const std::string path = inside("link");
  ASSERT_EQ(::symlink(made("real").c_str(), path.c_str()), 0);
  for (const char* end : {"", "/", "//", "/.", "/./", "//././/", "/%2e"}) {
    const Failure why = refusal("file://" + path + end);
    EXPECT_EQ(why.code, Errc::misconfigured) << end;
    EXPECT_THAT(why.text, AllOf(HasSubstr(path), HasSubstr("symbolic link"))) << end;
  }
  EXPECT_FALSE(refusal("file://" + directory() + "/./real/."));
}

TEST_F(FileDirectoryTest, ADescriptorInProcIsASymbolicLink) {
  const base::UniqueFd folder = base::UniqueFd::open(
      [&] { return ::open(directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  for (const char* end : {"", "/", "/."}) {
    const Failure why =
        refusal("file:///proc/self/fd/" + std::to_string(folder.get()) + std::string(end));
    EXPECT_EQ(why.code, Errc::misconfigured) << end;
    EXPECT_THAT(why.text, HasSubstr("symbolic link")) << end;
  }
}

// The kernel resolves it behind a link, the text does not.
TEST_F(FileDirectoryTest, AStepUpIsRefused) {
  made("real");
  made("real/inside");
  ASSERT_EQ(::symlink(inside("real").c_str(), inside("link").c_str()), 0);
  for (const char* path : {"/link/inside/..", "/link/inside/../", "/real/../real", "/%2e%2e"}) {
    const Failure why = refusal("file://" + directory() + path);
    EXPECT_EQ(why.code, Errc::misconfigured) << path;
    EXPECT_THAT(why.text, HasSubstr("'..'")) << path;
  }
  made("real/..plain");
  EXPECT_FALSE(refusal("file://" + inside("real/..plain")));
}

TEST_F(FileDirectoryTest, ALinkAboveTheDirectoryIsFollowed) {
  made("real");
  made("real/locks");
  ASSERT_EQ(::symlink(inside("real").c_str(), inside("link").c_str()), 0);
  EXPECT_FALSE(refusal("file://" + inside("link/locks")));
}

TEST_F(FileDirectoryTest, WritableByOthersIsRefused) {
  for (const mode_t mode : {0770U, 0702U, 01777U}) {
    const std::string path = made("mode" + std::to_string(mode), mode);
    const Failure why = refusal("file://" + path);
    EXPECT_EQ(why.code, Errc::misconfigured) << std::oct << mode;
    EXPECT_THAT(why.text, AllOf(HasSubstr(path), HasSubstr("writable")));
  }
  EXPECT_FALSE(refusal("file://" + made("readable", 0755)));
}

TEST_F(FileDirectoryTest, AnotherUsersIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a directory away";
  const std::string path = made("theirs");
  ASSERT_EQ(::chown(path.c_str(), nobody, nobody), 0);
  const Failure why = refusal("file://" + path);
  EXPECT_EQ(why.code, Errc::misconfigured);
  EXPECT_THAT(why.text, AllOf(HasSubstr(path), HasSubstr("another user")));
}

TEST_F(FileDirectoryTest, WithoutTheRightToWriteIsDenied) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  ASSERT_EQ(::chmod(directory().c_str(), 0755), 0);
  const std::string path = made("readonly", 0500);
  ASSERT_EQ(::chown(path.c_str(), nobody, nobody), 0);
  const std::string roots = made("roots", 0755);
  model::Process child = model::Process::fork_child([&] {
    // Root may do everything; nobody may not.
    if (::setgroups(0, nullptr) != 0 || ::setgid(nobody) != 0 || ::setuid(nobody) != 0) return 9;
    for (const std::string& denied : {path, roots}) {
      const Failure why = refusal("file://" + denied);
      std::printf("%s\n", why.text.c_str());
      if (why.code != Errc::denied || why.text.find(denied) == std::string::npos) return 1;
    }
    return 0;
  });
  const auto end = child.wait_for(soon);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 0);
}

TEST_F(FileDirectoryTest, AReadOnlyFileSystemIsRefused) {
  const std::string path = made("mounted");
  const test::TmpfsMount mount(path, "size=64k,mode=0700");
  if (!mount.why_not().empty()) GTEST_SKIP() << mount.why_not();
  const auto before = user({.directory = path});
  before->release(*before->try_lock("known"));
  before->backend().stop();
  EXPECT_FALSE(refusal("file://" + path));
  const auto client = user({.directory = path});
  ASSERT_TRUE(mount.make_read_only());

  Failure why = refusal("file://" + path);
  EXPECT_EQ(why.code, Errc::misconfigured);
  EXPECT_THAT(why.text, AllOf(HasSubstr(path), HasSubstr("read-only")));
  // A client from before learns it from its tries and its check.
  for (const char* name : {"known", "new"}) {
    why = client->failure_of(name);
    EXPECT_EQ(why.code, Errc::misconfigured) << name;
    EXPECT_THAT(why.text, HasSubstr(path + "/" + file_name(name)));
  }
  const auto check = std::make_shared<Check>();
  client->backend().check(check);
  EXPECT_EQ(check->failure().code, Errc::misconfigured);
}

TEST_F(FileDirectoryTest, BadUrlsAreRefusedByName) {
  const std::string path = directory();
  const auto text = [](const std::string& url) {
    const Failure why = refusal(url);
    EXPECT_EQ(why.code, Errc::misconfigured) << url;
    return why.text;
  };
  EXPECT_THAT(text("file://localhost" + path), HasSubstr("host"));
  EXPECT_THAT(text("file://me:secret@" + path), AllOf(HasSubstr("host"), Not(HasSubstr("secret"))));
  EXPECT_THAT(text("file:locks"), HasSubstr("absolute"));
  EXPECT_THAT(text("file:"), HasSubstr("absolute"));
  EXPECT_THAT(text("file://" + path + "?flash=yes"),
              HasSubstr("the parameters of this store are create, flush"));
  EXPECT_THAT(text("file://" + path + "?flush=1"), HasSubstr("flush"));
  EXPECT_THAT(text("memory://" + path), HasSubstr("scheme"));
}

TEST_F(FileDirectoryTest, PathsAreDecoded) {
  const std::string path = made("with space");
  EXPECT_FALSE(refusal("file://" + directory() + "/with%20space"));
  EXPECT_EQ(backend("file://" + directory() + "/with%20space")->describe().name, "file " + path);
}

TEST_F(FileDirectoryTest, OneThatVanishedIsMadeAgainOrNamed) {
  const std::string path = inside("locks");
  for (const bool create : {true, false}) {
    made("locks");
    const auto client = user({.directory = path, .create = create});
    client->release(*client->try_lock("a"));
    ASSERT_EQ(::unlink((path + "/a.lock").c_str()), 0);
    ASSERT_EQ(::rmdir(path.c_str()), 0);
    if (create) {
      EXPECT_TRUE(client->try_lock("a"));
      ASSERT_EQ(::unlink((path + "/a.lock").c_str()), 0);
      ASSERT_EQ(::rmdir(path.c_str()), 0);
      continue;
    }
    const Failure why = client->failure_of("a");
    EXPECT_EQ(why.code, Errc::misconfigured);
    EXPECT_THAT(why.text, HasSubstr(path));
    // And it works again, without a restart, once somebody has put it right.
    made("locks");
    EXPECT_TRUE(client->try_lock("a"));
  }
}

}  // namespace
}  // namespace mortise::file
