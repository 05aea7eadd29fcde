// SPDX-License-Identifier: MIT
// Has one thread of this process stand still, wherever it is, as if the scheduler had forgotten it:
// what happens to a waiter between its grant and its return cannot be tested otherwise.
#pragma once

#include "support/eventually.hpp"

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <ctime>

namespace mortise::contract {

/// Stalls a thread from the constructor to the destructor. One at a time in a process.
class Stall {
 public:
  explicit Stall(pthread_t thread) {
    state().store(State::wanted);
    struct sigaction action {};
    action.sa_handler = &stand_still;
    ::sigaction(SIGUSR1, &action, &before_);
    ::pthread_kill(thread, SIGUSR1);
  }
  Stall(const Stall&) = delete;
  Stall& operator=(const Stall&) = delete;
  ~Stall() {
    end();
    ::sigaction(SIGUSR1, &before_, nullptr);
  }
  /// @return whether the thread stands still by now.
  [[nodiscard]] bool began() const {
    return test::eventually([] { return state().load() == State::stands; });
  }
  /// Lets it go on.
  void end() {
    if (state().exchange(State::ended) != State::stands) return;
    static_cast<void>(test::eventually([] { return state().load() == State::left; }));
  }

 private:
  enum class State { wanted, stands, ended, left };
  static std::atomic<State>& state() {
    static std::atomic<State> state{State::left};
    return state;
  }
  // Only what a signal handler may do: atomics without locks, and nanosleep().
  static void stand_still(int /*signal*/) {
    State wanted = State::wanted;
    if (!state().compare_exchange_strong(wanted, State::stands)) return;
    while (state().load() == State::stands) {
      const timespec moment{.tv_sec = 0, .tv_nsec = 100'000};
      ::nanosleep(&moment, nullptr);
    }
    state().store(State::left);
  }

  struct sigaction before_ {};
};

}  // namespace mortise::contract
