// SPDX-License-Identifier: MIT
// The kinds of store, each in a file of its own.
#pragma once

#include "simulation/scene/stand.hpp"

namespace simulation {

inline constexpr std::size_t memory_specials = 5;
[[nodiscard]] std::unique_ptr<Stand> make_memory_stand(const Plan& plan, Room& room);

}  // namespace simulation
