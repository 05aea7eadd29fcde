// SPDX-License-Identifier: MIT
// How long it takes from the unlock of one side to the return of lock() on the other, where the
// other is known to sleep by then. The two sides are threads of this process, or two processes.
#pragma once

#include "placement.hpp"

#include <atomic>
#include <cstdint>
#include <functional>

namespace mortise::bench {

/// What one side does to get the lock and to let it go.
struct Baton {
  std::function<void()> take;
  std::function<void()> give;
};

enum class Sides { threads, processes };

/// @param make makes a side's baton, on the thread or in the process that uses it; the first take
/// is side 0's
/// @return the p50 in microseconds
[[nodiscard]] double handoff(Mode mode, Sides sides, const std::function<Baton(int side)>& make);

/// A bare hand-off: a word that says whose turn it is, and a futex to sleep on.
class FutexRelay {
 public:
  /// @param shared whether the word lies in memory that is shared between processes
  explicit FutexRelay(bool shared = false) noexcept : shared_(shared) {}
  /// Waits for the turn of `side`.
  void take(std::uint32_t side) noexcept;
  /// Makes it the turn of `side`.
  void give(std::uint32_t side) noexcept;
  /// Makes it nobody's turn but that of side 0; wakes nobody.
  void reset() noexcept { turn_.store(0); }

 private:
  std::atomic<std::uint32_t> turn_{0};
  bool shared_;
};

/// FUTEX_WAIT and FUTEX_WAKE of one sleeper.
void futex_sleep(const std::atomic<std::uint32_t>& word, std::uint32_t seen, bool shared) noexcept;
void futex_wake_one(const std::atomic<std::uint32_t>& word, bool shared) noexcept;

}  // namespace mortise::bench
