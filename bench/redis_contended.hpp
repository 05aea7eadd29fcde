// SPDX-License-Identifier: MIT
// What it costs on Redis that several clients, or several threads of one, want the same name.
#pragma once

#include "placement.hpp"

namespace mortise::bench {

/// The p50 in microseconds from unlock() in one process to the return of lock() in another; and of
/// the least that tells one waiter through the server: a script that notes whose turn it is and
/// publishes that to a subscriber that reads its connection.
[[nodiscard]] double redis_handoff(Mode mode);
[[nodiscard]] double raw_redis_handoff(Mode mode);
/// Commands that clients send, and messages that the server publishes, for each such hand-off.
[[nodiscard]] double commands_per_handoff(Mode mode);
[[nodiscard]] double pushes_per_handoff(Mode mode);

/// Grants a second to eight threads of one client that want one name all the time.
[[nodiscard]] double redis_threads(Mode mode);

struct Waiting {
  double percent = 0;   ///< of a core, for all clients
  double commands = 0;  ///< per waiter and second
};

/// Seven clients wait at the server, while an eighth one holds for three seconds.
[[nodiscard]] Waiting seven_waiting(Mode mode);

}  // namespace mortise::bench
