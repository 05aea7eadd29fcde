// SPDX-License-Identifier: MIT
// What a run expects of the contract, in figures that several of its parts need.
#pragma once

#include "simulation/world/random.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace simulation {

/// What the contract gives a timed call beyond its time (L3), and the simulation's own latency.
inline constexpr Nanos grace = std::chrono::milliseconds(50);

/// What closing a client may take: two command time-outs (L4), and the simulation's own latency.
inline constexpr Nanos longest_close = std::chrono::seconds(2) + grace;

/// What a fault, or a call that went wrong, may leave behind beyond a lease: provisional leases of
/// waiters that are gone, copies that come late.
inline constexpr Nanos longest_debris = std::chrono::seconds(12);
/// Whoever gives up takes its place back, and gives back what it is told then, within this time.
inline constexpr Nanos rest_of_a_wait = std::chrono::seconds(1);

/// In fair weather: how long one holds, and what a server that answers at once may take.
inline constexpr Nanos longest_fair_hold = std::chrono::milliseconds(20);
inline constexpr Nanos longest_fair_call = std::chrono::milliseconds(100);

inline constexpr std::string_view name_begins = "name/";
[[nodiscard]] inline std::string lock_name(std::size_t number) {
  return std::string(name_begins) + std::to_string(number);
}

}  // namespace simulation
