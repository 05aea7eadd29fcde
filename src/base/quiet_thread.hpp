// SPDX-License-Identifier: MIT
// A thread that leaves the program's signals to the program's own threads.
#pragma once

#include <mortise/error.hpp>

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

namespace mortise::base {

/// Starts a thread with every signal blocked that may go to any thread: a handler of the program
/// must not run on one that the program does not know. What a thread's own instruction raises is
/// its own: a virtual machine that the user's code enters there lives by it, and where it is
/// blocked the kernel ends the program.
/// @throws Error (`exhausted`) if the machine starts no further thread
template <class Function>
[[nodiscard]] std::thread quiet_thread(Function function) {
  sigset_t all{};
  sigset_t before{};
  sigfillset(&all);
  for (const int of_its_own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
    sigdelset(&all, of_its_own);
  }
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } const restore{before};
  try {
    return std::thread(std::move(function));
  } catch (const std::system_error& error) {
    throw Error({Errc::exhausted, "cannot start a thread: " + error.code().message()});
  }
}

/// The same, of a thread that nobody waits for: what it runs must stay in memory, also where the
/// shared object that has it is unloaded. glibc keeps one that has a destructor to run in some
/// thread, until that has ended.
/// @throws Error as `quiet_thread()`
template <class Function>
void detached_thread(Function function) {
  quiet_thread([function = std::move(function)]() mutable {
    struct Stay {
      // It does something, in the eyes of a compiler that leaves out those that do nothing.
      ~Stay() { std::atomic_signal_fence(std::memory_order_seq_cst); }
    };
    thread_local const Stay stay{};
    static_cast<void>(&stay);
    function();
  }).detach();
}

}  // namespace mortise::base
