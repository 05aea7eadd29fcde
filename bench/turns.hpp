// SPDX-License-Identifier: MIT
// Two sides of a case that take turns within a round, on one server: what a disk does changes from
// second to second, and meets both of them alike that way.
#pragma once

#include "case.hpp"

#include <functional>
#include <vector>

namespace mortise::bench {

/// The samples of one turn.
using Sampler = std::function<std::vector<double>()>;

/// @param ours called once, in this process
/// @param floor called once, in a process of its own: a blocking call costs more where the process
///   has several threads, and the library has one
/// @return the medians of all samples of each; without the first turns, which warm up.
/// Call it before this process has clients.
[[nodiscard]] Pair in_turn(Mode mode, int turns, const std::function<Sampler()>& ours,
                           const std::function<Sampler()>& floor);

}  // namespace mortise::bench
