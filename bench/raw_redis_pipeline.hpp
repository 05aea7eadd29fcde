// SPDX-License-Identifier: MIT
// The most that a program gets out of a Redis with the library's scripts: one thread, many
// connections, on each many cycles of distinct names under way at once.
#pragma once

#include "figure.hpp"

#include <cstdint>

namespace mortise::bench {

/// @return the rate of cycles (lock and unlock), counted over half a second
[[nodiscard]] Rate pipelined_cycles(std::uint16_t port, int connections, int in_flight);

}  // namespace mortise::bench
