// SPDX-License-Identifier: MIT
// A bound on how long a lock takes to come, which a loaded machine does not break.
#pragma once

#include <mortise/mortise.hpp>

#include "support/eventually.hpp"

#include <algorithm>
#include <chrono>

namespace mortise::test {

/// Takes the lock, and waits for it as long as a loaded machine may need.
/// @return whether it came within the time, as `own_duration_of()` counts it
template <class AnyLock>
[[nodiscard]] bool taken_within(AnyLock& lock, std::chrono::nanoseconds time) {
  bool taken = false;
  const auto took = own_duration_of([&] { taken = lock.try_lock_for(patience); });
  return taken && took < time;
}

/// @return true if the lock can be taken, within that time after the moment, and not before it. A
/// machine that makes the test wait can reach the moment before the first try.
template <class AnyLock>
[[nodiscard]] bool taken_after(AnyLock& lock, std::chrono::steady_clock::time_point moment,
                               std::chrono::nanoseconds time) {
  const bool at_once = lock.try_lock();
  const auto now = std::chrono::steady_clock::now();
  if (at_once) return now >= moment;
  return lock.try_lock_for(std::max(moment - now, std::chrono::nanoseconds(0)) + time);
}

}  // namespace mortise::test
