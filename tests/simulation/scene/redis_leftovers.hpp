// SPDX-License-Identifier: MIT
// What a Redis server has kept of locks although the storm is long over.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/world/room.hpp"

#include <string>
#include <vector>

namespace simulation {

/// @param names that were used, and are free by now
/// @return the first that is left, in words; empty = nothing
[[nodiscard]] std::string redis_leftovers(Room& room, redis::RedisModel& server,
                                          const std::vector<std::string>& names);

}  // namespace simulation
