// SPDX-License-Identifier: MIT
// A hand-off through a server, between two processes on the client's side: from the call of
// unlock() in the one to the return of lock() in the other, which has waited at the server for a
// while.
#pragma once

#include "handoff.hpp"
#include "placement.hpp"

#include <functional>

namespace mortise::bench {

/// What one process does.
struct RemoteBaton {
  Baton baton;
  /// @return whether the other process, which has called take(), waits at the server
  std::function<bool()> other_waits;
};

inline constexpr int remote_handoffs = 550;

/// @param make makes a side's baton, in the process that uses it; the first take is side 0's
/// @return the p50 in microseconds of `remote_handoffs`, without the first fifty
[[nodiscard]] double remote_handoff(const std::function<RemoteBaton(int side)>& make, Mode mode);

}  // namespace mortise::bench
