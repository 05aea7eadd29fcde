// SPDX-License-Identifier: MIT
// The clock of the leader, as the replies to writes show it. Pure: the time is an argument.
#pragma once

#include <mortise/clock.hpp>

#include "core/figures.hpp"

#include <chrono>
#include <cstdint>

namespace mortise::zookeeper {

/// The bounds of the time by the leader's clock, in milliseconds since 1970.
struct LeadersTime {
  std::int64_t least = 0;  ///< 0: nothing is known
  std::int64_t most = 0;
};

class LeadersClock {
 public:
  /// A write was committed. @param mtime of its node, by that clock
  /// @param asked when the write left
  void wrote(std::int64_t mtime, Instant asked, Instant answered) noexcept {
    wrote_ = mtime;
    asked_ = asked;
    answered_ = answered;
  }
  /// The next leader may have another clock.
  void forget() noexcept { wrote_ = 0; }
  [[nodiscard]] LeadersTime time(Instant now) const noexcept {
    if (wrote_ == 0) return {};
    // Ours may be faster, or slower.
    const auto passed = [now](Instant from, int permille) {
      return std::chrono::duration_cast<std::chrono::milliseconds>((now - from) / 1'000 * permille)
          .count();
    };
    return {.least = wrote_ + passed(answered_, 1'000 - core::drift_permille),
            .most = wrote_ + 1 + passed(asked_, 1'000 + core::drift_permille) + 1};
  }
  /// @return true if it is not known, or from a write that is long ago: the clock may be stepped.
  [[nodiscard]] bool is_old(Instant now) const noexcept {
    constexpr std::chrono::minutes longest_use{10};
    return wrote_ == 0 || now - answered_ > longest_use;
  }

 private:
  std::int64_t wrote_ = 0;  // by its own clock
  Instant asked_{};         // by ours, not later than that
  Instant answered_{};      // ... and not before
};

}  // namespace mortise::zookeeper
