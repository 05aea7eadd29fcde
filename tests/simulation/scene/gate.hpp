// SPDX-License-Identifier: MIT
// The one semaphore of a run.
#pragma once

#include <cstddef>

namespace simulation {

inline constexpr const char* gate = "gate";
/// The judge's number of that name; locks and keys have those below.
inline constexpr std::size_t name_of_gate = 2'000;

}  // namespace simulation
