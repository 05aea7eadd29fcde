// SPDX-License-Identifier: MIT
// A moment of the server's clock as a moment of ours.
#pragma once

#include <mortise/clock.hpp>

#include "core/figures.hpp"
#include "remote/server_clock.hpp"

#include <cstdint>

namespace mortise::remote {

/// A reply shows the server's time `at`. Our clock showed `asked` before the request left.
struct Reading {
  Instant asked{};
  ServerTime at{};
  std::uint64_t clock = 0;  ///< the number of that clock, which each start of a server changes

  /// @return a moment of ours that is not later than that moment of the server. The rates of the
  /// two clocks differ by at most 0.1 %.
  [[nodiscard]] Instant not_later_than(ServerTime moment) const noexcept {
    if (moment <= at) {
      const std::chrono::nanoseconds before = at - moment;
      return asked - before - before * core::drift_permille / 1000;
    }
    const std::chrono::nanoseconds after = moment - at;
    return asked + after - after * core::drift_permille / 1000;
  }
};

}  // namespace mortise::remote
