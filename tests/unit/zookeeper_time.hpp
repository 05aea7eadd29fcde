// SPDX-License-Identifier: MIT
// The times of the tests of the pure parts: one file of them may be compiled with another.
#pragma once

#include <mortise/clock.hpp>

#include <chrono>

namespace mortise::zookeeper {

inline Instant at(std::chrono::milliseconds time) { return Instant(std::chrono::hours(1) + time); }

}  // namespace mortise::zookeeper
