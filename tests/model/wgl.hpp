// SPDX-License-Identifier: MIT
// The slow judge: an exhaustive search for a linearisation of a tiny history, after Wing and Gong
// with Lowe's memory of visited states. It shares no line with the checker, reads the raw events by
// itself, and knows neither the sort by token nor the running maximum; a randomised test holds the
// two against each other. Not for real histories: it is exponential.
#pragma once

#include "model/history.hpp"

#include <cstdint>
#include <span>

namespace mortise::model {

// Whether the well-formed history can be explained by a lock that is granted to one holder at a
// time, or to many that share it, with growing tokens; by a resource whose tokens never fall; and
// by a semaphore of so many permits. Throws std::length_error above 48 steps a name (a hold is one
// step and one for each way in which it may have ended).
bool wgl_accepts(std::span<const Event> events, bool loss_excuses = false,
                 std::uint32_t permits = 0);

}  // namespace mortise::model
