// SPDX-License-Identifier: MIT
// A thread that leaves the program's signals to the program's own threads.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace mortise::base {

/// Starts a thread with every signal blocked: a handler of the program must not run on a thread
/// that the program does not know.
template <class Function>
[[nodiscard]] std::thread quiet_thread(Function function) {
  sigset_t all{};
  sigset_t before{};
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } const restore{before};
  return std::thread(std::move(function));
}

}  // namespace mortise::base
