// SPDX-License-Identifier: MIT
// Until when a request whose connection broke may still take a lock.
#pragma once

#include <mortise/clock.hpp>

#include "remote/server_clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace mortise::remote {

/// A request that takes may arrive behind the requests of the next connection. The server ignores
/// it after its `void` moment. So a request that takes back what it took is final if the server
/// executed that one after the moment. Otherwise it is repeated once, right after the moment.
struct VoidMoment {
  /// A server's clock may be set back after it showed the time. Then what takes back is repeated
  /// now and then, for that long.
  static constexpr std::chrono::minutes life{2};

  ServerTime after{};                        ///< by the clock of the server that was asked
  std::uint64_t clock = 0;                   ///< which clock that is
  Instant noted{};                           ///< when the connection broke
  Instant elsewhere{};                       ///< until when a request to another server may arrive
  std::chrono::nanoseconds lasts = longest;  ///< void so long after it left, by any clock

  /// @return the `lasts` of a request whose answer may take that time.
  [[nodiscard]] static std::chrono::nanoseconds lasts_for(std::chrono::nanoseconds time) noexcept {
    return std::max<std::chrono::nanoseconds>(longest, time + ServerClock::longest_way);
  }

  /// Another request for the same attempt was lost. In a cluster the slot of its name may have gone
  /// to another server in between, and may come back.
  void extend(const VoidMoment& other) noexcept {
    if (clock != other.clock && after != ServerTime{}) {
      elsewhere = std::max(elsewhere, noted + lasts);
      after = ServerTime{};
    }
    after = std::max(after, other.after);
    lasts = std::max(lasts, other.lasts);
    clock = other.clock;
    noted = other.noted;
  }
  [[nodiscard]] bool is_forgotten(Instant now) const noexcept { return now - noted > life; }
  /// A server has executed what takes back. @param executed when, by the clock of `by`
  /// @return the moment of ours at which to repeat it; `never` = nothing can arrive any more
  [[nodiscard]] Instant next_try(ServerTime executed, std::uint64_t by,
                                 Instant now) const noexcept {
    if (is_forgotten(now)) return never;
    // Another server's clock proves nothing.
    const Instant other_clocks = by == clock ? elsewhere : std::max(elsewhere, noted + lasts);
    if (by != clock || executed > after) {
      return now > other_clocks ? never : other_clocks + a_moment;
    }
    return now + std::min<std::chrono::nanoseconds>(after - executed, lasts) + a_moment;
  }

  static constexpr std::chrono::seconds longest{2};
  static constexpr std::chrono::milliseconds a_moment{2};
};

/// When a request that takes is void, as its client has written it.
struct VoidTime {
  ServerTime after{};             ///< the server ignores the request after this moment of its clock
  std::chrono::nanoseconds in{};  ///< ... which is that long after the request left

  /// @param in the time that the answer to the request may take
  [[nodiscard]] static VoidTime from(const ServerClock& clock, Instant left,
                                     std::chrono::nanoseconds in) noexcept {
    return {.after = clock.at(left) + std::chrono::ceil<ServerTime>(in), .in = in};
  }
  /// @return when a look at the server shows whether it took a hold. Before that it may still wait.
  [[nodiscard]] Instant look_at(Instant left) const noexcept {
    return left + in + VoidMoment::a_moment;
  }
  /// Its connection broke at that moment. @param clock which clock `after` is of
  [[nodiscard]] VoidMoment lost(std::uint64_t clock, Instant now) const noexcept {
    return {.after = after, .clock = clock, .noted = now, .lasts = VoidMoment::lasts_for(in)};
  }
};

}  // namespace mortise::remote
