// SPDX-License-Identifier: MIT
// Until when a request whose connection broke may still take a lock.
#pragma once

#include <mortise/clock.hpp>

#include "redis/answer.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace mortise::redis {

/// A request that takes may arrive behind the requests of the next connection. The server ignores
/// it after its `void` moment. So a request that takes back what it took is final if the server
/// executed that one after the moment. Otherwise it is repeated once, right after the moment.
struct VoidMoment {
  /// A server's clock may be set back after it showed the time. Then what takes back is repeated
  /// now and then, for that long.
  static constexpr std::chrono::minutes life{2};

  ServerTime after{};       ///< by the clock of the server that was asked
  std::uint64_t clock = 0;  ///< which clock that is
  Instant noted{};          ///< when the connection broke

  /// Another request for the same attempt was lost.
  void extend(const VoidMoment& other) noexcept {
    after = clock == other.clock ? std::max(after, other.after) : other.after;
    clock = other.clock;
    noted = other.noted;
  }
  [[nodiscard]] bool is_forgotten(Instant now) const noexcept { return now - noted > life; }
  /// A server has executed what takes back. @param executed when, by the clock of `by`
  /// @return the moment of ours at which to repeat it; `never` = nothing can arrive any more
  [[nodiscard]] Instant next_try(ServerTime executed, std::uint64_t by,
                                 Instant now) const noexcept {
    if (is_forgotten(now)) return never;
    // Another server's clock proves nothing. Each request is void two seconds after it left.
    if (by != clock) return now > noted + longest ? never : noted + longest + a_moment;
    if (executed > after) return never;
    return now + std::min<std::chrono::nanoseconds>(after - executed, longest) + a_moment;
  }

  static constexpr std::chrono::seconds longest{2};
  static constexpr std::chrono::milliseconds a_moment{2};
};

}  // namespace mortise::redis
