// SPDX-License-Identifier: MIT
// The time that a server has to accept a connection: one rule for TCP, TLS and the greeting, on
// every store. This rule reads no clock.
#pragma once

#include <mortise/clock.hpp>

#include <algorithm>
#include <chrono>

namespace mortise::remote {

/// The limit for resolving a name, and for each step of a connection that ends with bytes of the
/// server. So the client soon gives up a silent server, and gives a distant server enough time.
inline constexpr std::chrono::seconds connect_time{2};
/// All steps of a connection have the time of this many silent steps. PostgreSQL with a password
/// and TLS needs eight round trips. A server that sends single bytes has no more time.
inline constexpr int most_connect_steps = 6;
inline constexpr std::chrono::seconds longest_connect_time = most_connect_steps * connect_time;

/// @param since when the client began to connect to the server
/// @param now when the server has sent its last bytes, or `since`
/// @param step the time of one step
/// @return when the client gives the server up, if the server sends no further bytes
[[nodiscard]] constexpr Instant connect_limit(
    Instant since, Instant now, std::chrono::nanoseconds step = connect_time) noexcept {
  return std::min(now + step, since + most_connect_steps * step);
}

}  // namespace mortise::remote
