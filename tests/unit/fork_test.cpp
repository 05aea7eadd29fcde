// SPDX-License-Identifier: MIT
// Goal: a forked child has none of the library's descriptors, and knows that it is one (S9).
// Method: real forks; the child answers by its exit code.
#include "base/unique_fd.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace mortise::base {
namespace {

UniqueFd open_null() {
  return UniqueFd::open([] { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); });
}

template <class Body>
int exit_code_of_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Promise: S9
TEST(ForkTest, ClosesOurDescriptorsInTheChildOnly) {
  const UniqueFd ours = open_null();
  const int foreign = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const std::uint32_t before = fork_generation();
  EXPECT_EQ(exit_code_of_child([&] {
              if (::fcntl(ours.get(), F_GETFD) != -1) return 1;
              if (::fcntl(foreign, F_GETFD) == -1) return 2;
              return fork_generation() == before ? 3 : 0;
            }),
            0);
  EXPECT_NE(::fcntl(ours.get(), F_GETFD), -1);
  EXPECT_EQ(fork_generation(), before);
  ::close(foreign);
}

TEST(ForkTest, TheChildDoesNotCloseANumberThatBelongsToSomebodyElseNow) {
  UniqueFd ours = open_null();
  EXPECT_EQ(exit_code_of_child([&] {
              const int reused = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
              if (reused != ours.get()) return 1;
              ours.reset();
              return ::fcntl(reused, F_GETFD) == -1 ? 2 : 0;
            }),
            0);
}

TEST(ForkTest, ForksBesideOpeningsLeakNothing) {
  std::atomic<bool> stop{false};
  std::thread opener([&] {
    while (!stop.load()) static_cast<void>(open_null());
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(exit_code_of_child([] {
                // Only what is not ours may be open; the opener's descriptor comes after these.
                UniqueFd probe = open_null();
                return probe ? 0 : 1;
              }),
              0);
  }
  stop.store(true);
  opener.join();
}

TEST(ForkTest, MovingKeepsOneOwner) {
  UniqueFd a = open_null();
  const int number = a.get();
  UniqueFd b = std::move(a);
  EXPECT_EQ(a.get(), -1);  // NOLINT(bugprone-use-after-move): the moved-from state is the point
  EXPECT_EQ(b.get(), number);
  b = open_null();
  EXPECT_EQ(::fcntl(b.get(), F_GETFD) == -1, false);
}

}  // namespace
}  // namespace mortise::base
