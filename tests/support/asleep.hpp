// SPDX-License-Identifier: MIT
// Whether a thread sleeps in the kernel, and in which system call: the condition to wait for where
// a test needs a waiter that really waits.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <initializer_list>
#include <string>
#include <thread>

namespace mortise::test {

/// @return the system call in which a thread of this or another process sleeps, or -1.
inline long sleeping_in(pid_t thread) {
  std::ifstream file("/proc/" + std::to_string(thread) + "/syscall");
  long number = -1;
  // "running" is no number, and so is a file that cannot be read.
  return file >> number ? number : -1;
}

/// Waits until the thread sleeps in one of these system calls. @return false: not in time
inline bool falls_asleep(pid_t thread, std::initializer_list<long> calls,
                         std::chrono::seconds at_most = std::chrono::seconds(10)) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  int asleep = 0;
  while (std::chrono::steady_clock::now() < until) {
    const long now = sleeping_in(thread);
    asleep = std::find(calls.begin(), calls.end(), now) != calls.end() ? asleep + 1 : 0;
    // More than once: it may stand before a mutex for a moment, or be about to wake.
    if (asleep == 10) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace mortise::test
