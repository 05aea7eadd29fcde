// SPDX-License-Identifier: MIT
// What a lock and an unlock of a free name cost on five Redis servers, by the library and by a
// program that asks all at once and goes on at the third answer.
#pragma once

#include "placement.hpp"

namespace mortise::bench {

/// The p50 of a cycle in microseconds.
[[nodiscard]] double redlock_cycle(Mode mode);
[[nodiscard]] double raw_redlock_cycle(Mode mode);
/// The same with one of the five stopped, as by SIGSTOP: it has been connected to, and is silent.
[[nodiscard]] double redlock_cycle_without_one(Mode mode);

}  // namespace mortise::bench
