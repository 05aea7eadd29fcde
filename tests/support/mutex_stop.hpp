// SPDX-License-Identifier: MIT
// A thread that stands still before a mutex: for orders of two threads of which one is late by as
// much as a test likes, at a place that the code under test has not been told of. A process whose
// calls of pthread_mutex_lock and _unlock lead here by the linker (--wrap) can have one at a time.
#pragma once

#include <cstdint>
#include <semaphore>

namespace mortise {

class MutexStop {
 public:
  /// The calling thread stands still before the `place`-th mutex, from 1, that it locks from now on
  /// while it has none: where it stands others can go on.
  void stop_this_thread(unsigned place) noexcept;
  /// The same, but the thread stands still with that mutex: in a process that is forked then, no
  /// thread ever unlocks it.
  void stop_this_thread_with(unsigned place) noexcept;
  /// The calling thread no longer stops. If it never stood, `until_it_stands()` returns false.
  void leave_this_thread() noexcept;
  /// Waits until it does. @return false: it has left, and locked fewer mutexes
  bool until_it_stands() {
    stands_.acquire();
    return !left_;
  }
  void let_go() { goes_on_.release(); }

  /// Counts what the calling thread locks until the next call.
  void count_this_thread() noexcept;
  /// @return which mutex, from 1, of those that it locked while it had none, was the first under
  /// which it locked another one; 0 = none
  [[nodiscard]] unsigned outer_of_the_first_pair() noexcept;

  // What the linker's wrappers call.
  static void before_lock() noexcept;
  static void after_lock() noexcept;
  static void after_unlock() noexcept;

 private:
  void stand() noexcept {
    stands_.release();
    goes_on_.acquire();
  }

  std::binary_semaphore stands_{0};
  std::binary_semaphore goes_on_{0};
  bool left_ = false;
};

}  // namespace mortise
