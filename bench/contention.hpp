// SPDX-License-Identifier: MIT
// Many threads that want one lock.
#pragma once

#include "handoff.hpp"
#include "placement.hpp"

#include <chrono>
#include <functional>
#include <vector>

namespace mortise::bench {

struct Grants {
  double per_second = 0;
  double evenness = 0;  ///< the smallest share of a thread / the largest
  double cpu_us = 0;    ///< microseconds of all threads of this process, for each grant
};

/// Has `threads` threads take and give the lock, with nothing in between.
/// @param make makes the baton of a thread, on that thread
[[nodiscard]] Grants contend(int threads, const std::function<Baton(int thread)>& make,
                             std::chrono::milliseconds length = std::chrono::milliseconds(500));

/// @param waiters batons of threads that will wait, one each, all the time, for what `holder` holds
/// @return the CPU time of this process while they wait, in per cent of a core
[[nodiscard]] double cost_of_waiting(const Baton& holder, const std::vector<Baton>& waiters,
                                     std::chrono::milliseconds window);

}  // namespace mortise::bench
