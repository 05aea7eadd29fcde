// SPDX-License-Identifier: MIT
// One side of a hand-off between two processes, which may use different libraries: from the call of
// unlock() in the one to the return of lock() in the other, which has waited for a while.
#pragma once

#include "peer.hpp"

#include <chrono>
#include <string>

namespace peers {

/// Takes and gives the lock in turn with the other side, which runs at the same time.
///
/// @param period of a peer that sleeps between looks, zero for one that is woken: the lock is given
/// at moments that are spread evenly over it, or the other would always have just looked
/// @param side 0 (has the first turn) or 1
/// @param turns of both sides together
/// @param board a file of zeros that both map, 8 * (5 + turns) bytes: whether a side failed, when
/// the lock was given, how many turns have begun, whether side 0 and side 1 are on their way; then
/// how long each turn's taker waited for it, in nanoseconds
/// @errors as `Handle::lock()`; std::runtime_error where the other side fails or does not come
void run_relay(Handle& lock, std::chrono::microseconds period, int side, int turns,
               const std::string& board);

}  // namespace peers
