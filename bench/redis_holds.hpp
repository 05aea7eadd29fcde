// SPDX-License-Identifier: MIT
// One client that holds a hundred thousand locks of a Redis: what they cost it, and the server.
#pragma once

#include "placement.hpp"

namespace mortise::bench {

/// @return bytes on the client's heap for one held lock.
[[nodiscard]] double client_memory_of_a_hold(Mode mode);
/// @return bytes in the server for one held lock.
[[nodiscard]] double server_memory_of_a_hold(Mode mode);
/// Holds them for three lease times. The lease is a third of the default one, so that each is
/// renewed nine times while one watches, and the CPU is divided by three.
/// @return the client's CPU in per cent of a core, for the default lease
/// @throws std::runtime_error where a hold was lost
[[nodiscard]] double cpu_of_renewing(Mode mode);

}  // namespace mortise::bench
