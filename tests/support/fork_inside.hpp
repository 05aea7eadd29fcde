// SPDX-License-Identifier: MIT
// A fork on a thread of the library, inside code of the program: a task, or an executor.
#pragma once

#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>

namespace mortise::test {

/// The calling thread forks. The child returns from this function and goes on. If the program ends
/// in the child, the child ends with 0 and runs nothing else.
/// @return in the parent: the exit status of the child; nothing in the child
[[nodiscard]] inline std::optional<int> fork_inside() {
  const pid_t child = ::fork();
  if (child == 0) {
    sigset_t alarm{};
    ::sigemptyset(&alarm);
    ::sigaddset(&alarm, SIGALRM);
    ::pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);  // a thread of the library has blocked it
    ::alarm(10);  // a child that hangs fails the test, and does not stop it
    static_cast<void>(std::atexit([] { ::_exit(0); }));
    return std::nullopt;
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

}  // namespace mortise::test
