// SPDX-License-Identifier: MIT
// Many who queue at a Redis server, none of whom has an inbox: nobody can tell them anything.
#pragma once

#include "simulation/scene/redis_bystander.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simulation {

/// Not to be asked from the middle of a script.
class RedisCrowd {
 public:
  /// @param connection of the server's side only: nobody else has it
  RedisCrowd(redis::RedisModel& server, ConnectionId connection) : people_(server, connection) {}
  /// Somebody holds the lock. @return their attempts, in the order in which they stand
  std::vector<std::string> queue(const std::string& key, std::uint64_t many, Nanos lease);
  void leave(const std::string& key, const std::vector<std::string>& attempts);
  [[nodiscard]] std::uint64_t requests() const noexcept { return people_.requests(); }

 private:
  RedisBystander people_;
  std::uint64_t so_far_ = 0;
};

}  // namespace simulation
