// SPDX-License-Identifier: MIT
// How the server's clock reads beside ours.
#pragma once

#include <mortise/clock.hpp>

#include "core/figures.hpp"
#include "redis/answer.hpp"

#include <cstdint>

namespace mortise::redis {

/// A reply told the server's time `at`; our clock was not later than that when it read `asked`.
struct Reading {
  Instant asked{};
  ServerTime at{};
  std::uint64_t clock = 0;  ///< by whose clock: another one after each start of a server

  /// @return a moment of ours that is not later than that one of the server's: the rates of the two
  /// clocks differ by at most 0.1 %.
  [[nodiscard]] Instant not_later_than(ServerTime moment) const noexcept {
    if (moment <= at) {
      const std::chrono::nanoseconds before = at - moment;
      return asked - before - before * core::drift_permille / 1000;
    }
    const std::chrono::nanoseconds after = moment - at;
    return asked + after - after * core::drift_permille / 1000;
  }
};

}  // namespace mortise::redis
