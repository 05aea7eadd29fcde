// SPDX-License-Identifier: MIT
// A bound on how long a lock takes to come, which a loaded machine does not break.
#pragma once

#include <mortise/mortise.hpp>

#include "support/eventually.hpp"

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

}  // namespace mortise::test
