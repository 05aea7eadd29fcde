// SPDX-License-Identifier: MIT
// Waiting for a condition instead of a time. A test never sleeps to be sure: it names what it waits
// for, and the longest time is only how long a failure takes.
#pragma once

#include "support/own_time.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

namespace mortise::test {

/// How long a condition that must come may take on a machine that has other things to do.
inline constexpr std::chrono::seconds patience{20};
/// The wait of a call that is to be told "no". With no answer at all, as of a machine that does
/// much else, it is told that the store cannot be reached.
inline constexpr std::chrono::milliseconds answer_time{600};

/// @return whether the condition came to hold in time. A time shorter than `patience` is a promise
/// that the test checks, so it counts without the time that the machine made us wait. A look that
/// asks a server takes more than the pause between two of cheap ones, and would keep it and us busy
/// for the whole time; so at most a fifth of the time goes into looks.
template <class Condition>
[[nodiscard]] bool eventually(Condition holds, std::chrono::nanoseconds within = patience) {
  using std::chrono::nanoseconds;
  constexpr nanoseconds shortest = std::chrono::microseconds(200);
  constexpr nanoseconds longest = std::chrono::milliseconds(20);
  std::optional<OwnTimeLimit> limit;
  auto now = std::chrono::steady_clock::now();
  const auto until = now + within;
  while (true) {
    const auto began = now;
    if (holds()) return true;
    now = std::chrono::steady_clock::now();
    if (limit ? limit->is_over() : now >= until) return holds();
    if (!limit && within < patience) limit.emplace(within, patience);
    std::this_thread::sleep_for(std::clamp<nanoseconds>(4 * (now - began), shortest, longest));
    now = std::chrono::steady_clock::now();
  }
}

/// @return whether the condition came to hold within this time of the clock. For what must not
/// happen: a look that is longer on a loaded machine sees what comes later by right.
template <class Condition>
[[nodiscard]] bool happens_within(Condition holds, std::chrono::nanoseconds within) {
  const auto until = std::chrono::steady_clock::now() + within;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// @return whether the future is ready within the time, which counts as that of `eventually()`.
template <class Result>
[[nodiscard]] bool comes(const std::future<Result>& future,
                         std::chrono::nanoseconds within = patience) {
  constexpr std::chrono::nanoseconds none{0};
  if (within <= none || within >= patience) {
    return future.wait_for(within) == std::future_status::ready;
  }
  OwnTimeLimit limit(within, patience);
  do {
    if (future.wait_until(limit.until()) == std::future_status::ready) return true;
  } while (!limit.is_over());
  return future.wait_for(none) == std::future_status::ready;
}

/// @return whether the future is ready within this time of the clock. For what must not happen.
template <class Result>
[[nodiscard]] bool comes_within(const std::future<Result>& future,
                                std::chrono::nanoseconds within) {
  return future.wait_for(within) == std::future_status::ready;
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

}  // namespace mortise::test
