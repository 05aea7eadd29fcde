// SPDX-License-Identifier: MIT
// What the histories beside each other library expect of a run; which library, and on which store,
// says the file of each.
#pragma once

#include "model/interop.hpp"
#include "model/lock_history.hpp"

#include <chrono>
#include <cstdint>

namespace mortise::model {

// Three processes of ours beside theirs, on two names, for length_of_long_runs().
void expect_neighbours_apart(const HistoryBackend& backend, const Neighbours& neighbours);

// The same with a setting of which the page says that both sides hold: the judge has to see it, or
// its silence in the other runs is worth nothing.
void expect_neighbours_seen_together(const HistoryBackend& backend, const Neighbours& neighbours);

}  // namespace mortise::model
