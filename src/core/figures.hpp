// SPDX-License-Identifier: MIT
// The library's figures in one place, and the inequalities between them.
#pragma once

#include <mortise/token.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace mortise::core {

using Nanos = std::chrono::nanoseconds;

inline constexpr std::chrono::milliseconds shortest_lease{100};
inline constexpr std::chrono::hours longest_lease{24};
inline constexpr std::size_t longest_name = 512;
/// How long a key may be remembered.
inline constexpr std::chrono::seconds shortest_keep{1};
inline constexpr std::chrono::hours longest_keep{24 * 3653};
inline constexpr std::size_t longest_label = 128;

/// A waiter that has heard nothing asks again this often: a lost wake-up costs at most this.
inline constexpr std::chrono::milliseconds fallback_period{1'000};
/// An attempt that nobody waits for any more is taken back; that is repeated at most so often.
inline constexpr int fallback_periods_of_an_orphan = 3;
/// What a timed call may add to its time: the time to take an attempt back.
inline constexpr std::chrono::milliseconds grace{40};

/// Whoever wants several names waits so often while it holds none, then with those that come first.
/// With more than one a transfer between two accounts that eight processes want all the time takes
/// half as many requests again.
inline constexpr int rounds_with_nothing_held = 1;

/// Clock rates of client and server differ by at most this part of a lease.
inline constexpr int drift_permille = 1;
/// Renewal begins at this part of a lease: two more tries fit into the rest.
inline constexpr int renewals_in_a_lease = 3;
/// How late a request that was not answered may still be carried out.
inline constexpr std::chrono::minutes late_requests_live{5};
/// How often a client looks whether what is lost, and not unlocked, can still be unlocked.
inline constexpr std::chrono::seconds pause_of_looks_at_losses{30};
/// Holds in one renewal request.
inline constexpr std::size_t renewal_batch = 128;
/// A request that was not answered for so long is asked again, and its connection dropped.
[[nodiscard]] constexpr Nanos command_timeout(Nanos lease) noexcept {
  return std::min<Nanos>(std::chrono::seconds(1), lease / 6);
}
/// The command timeout of several requests that leave together, because a store answers one after
/// the other. It is short enough for holds that are not renewed in the meantime.
[[nodiscard]] constexpr Nanos flight_timeout(Nanos lease, std::size_t requests) noexcept {
  const Nanos all = command_timeout(lease) * static_cast<Nanos::rep>(1 + requests / 1'000);
  return std::min(all, std::max<Nanos>(command_timeout(lease), lease / renewals_in_a_lease));
}
/// The longest command timeout on a slow link (see remote::RoundTrip). After a lost renewal a third
/// of the lease is left for another connection, with all its round trips, and a renewal.
[[nodiscard]] constexpr Nanos longest_command(Nanos lease) noexcept {
  return std::min<Nanos>(std::chrono::seconds(4), lease / renewals_in_a_lease);
}
/// The lease of a grant that nobody has confirmed yet.
[[nodiscard]] constexpr Nanos provisional_lease(Nanos lease) noexcept {
  return std::min<Nanos>(std::chrono::seconds(2), lease);
}

/// Token = grant number x this + number of the hand-over inside the process.
inline constexpr std::uint64_t tokens_in_a_grant = 1024;
/// @return the number of the grant that a token belongs to.
[[nodiscard]] constexpr std::uint64_t number_of(Token token) noexcept {
  return token.value() / tokens_in_a_grant;
}
/// Of one semaphore: whoever comes counts those that are held.
inline constexpr std::uint32_t most_permits = 10'000;
inline constexpr std::uint32_t longest_turn = 1000;
static_assert(longest_turn < tokens_in_a_grant);
/// Grant numbers stay below this, so that tokens fit a signed 64-bit column and doubles (Lua) are
/// exact.
inline constexpr std::uint64_t grant_number_limit = std::uint64_t{1} << 53U;

}  // namespace mortise::core
