// SPDX-License-Identifier: MIT
// Waiting for a condition instead of a time. A test never sleeps to be sure: it names what it waits
// for, and the longest time is only how long a failure takes.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace mortise::test {

/// How long a condition that must come may take on a machine that has other things to do.
inline constexpr std::chrono::seconds patience{20};
/// The wait of a call that is to be told "no". With no answer at all, as of a machine that does
/// much else, it is told that the store cannot be reached.
inline constexpr std::chrono::milliseconds answer_time{200};

/// @return whether the condition came to hold in time. A look that asks a server takes more than
/// the pause between two of cheap ones, and would keep it and us busy for the whole time; so at
/// most a fifth of the time goes into looks.
template <class Condition>
[[nodiscard]] bool eventually(Condition holds, std::chrono::nanoseconds within = patience) {
  using std::chrono::nanoseconds;
  constexpr nanoseconds shortest = std::chrono::microseconds(200);
  constexpr nanoseconds longest = std::chrono::milliseconds(20);
  auto now = std::chrono::steady_clock::now();
  const auto until = now + within;
  while (true) {
    const auto began = now;
    if (holds()) return true;
    now = std::chrono::steady_clock::now();
    if (now >= until) return holds();
    std::this_thread::sleep_for(std::clamp<nanoseconds>(4 * (now - began), shortest, longest));
    now = std::chrono::steady_clock::now();
  }
}

/// Something that happens once.
class Signal {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] bool is_set() const {
    const std::lock_guard lock(mutex_);
    return set_;
  }
  /// @return whether it happened in time.
  [[nodiscard]] bool wait(std::chrono::nanoseconds within = patience) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, within, [this] { return set_; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool set_ = false;
};

/// The time that a call takes.
template <class Callable>
[[nodiscard]] std::chrono::nanoseconds duration_of(Callable call) {
  const auto began = std::chrono::steady_clock::now();
  call();
  return std::chrono::steady_clock::now() - began;
}

/// The least time of several runs: what is left when other programs are out of the way. A promise
/// "at most so long" that is broken is broken in every run. Ends as soon as one run was good
/// enough.
template <class Callable>
[[nodiscard]] std::chrono::nanoseconds best_of(int runs, std::chrono::nanoseconds good_enough,
                                               Callable call) {
  std::chrono::nanoseconds best = std::chrono::nanoseconds::max();
  for (int run = 0; run < runs && best > good_enough; ++run) {
    best = std::min<std::chrono::nanoseconds>(best, call());
  }
  return best;
}

}  // namespace mortise::test
