// SPDX-License-Identifier: MIT
// One side of a hand-over between two processes, which may use different libraries: from the call
// of unlock() in one process to the return of lock() in the other, which has waited for a while.
#pragma once

#include "peer.hpp"

#include <chrono>
#include <string>

namespace peers {

/// Takes and gives the lock in turn with the other side, which runs at the same time.
///
/// @param period sleep of a peer between two requests, zero if it is woken: the lock is given at
/// moments that are spread evenly over the period, so that the other side has not always just asked
/// @param side 0 (has the first turn) or 1
/// @param turns of both sides together
/// @param board a file of zeros that both map, 8 * (5 + turns) bytes: whether a side failed, when
/// the lock was given, how many turns have begun, whether side 0 and side 1 have started to take
/// it; then the wait for the lock per turn, in nanoseconds
/// @errors as `Handle::lock()`; std::runtime_error if the other side fails or does not start
void run_relay(Handle& lock, std::chrono::microseconds period, int side, int turns,
               const std::string& board);

}  // namespace peers
