// SPDX-License-Identifier: MIT
// Watches at a server what comes of requests that are sent again (S5): each tells the number of its
// connection, which is one and the same on a connection, and what is older than a request of the
// same attempt that was answered changes nothing.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/world/room.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace simulation {

class RedisCopies {
 public:
  explicit RedisCopies(Room& room) : room_(room) {}
  /// @return what must not be; empty = nothing
  [[nodiscard]] std::string look(const redis::ScriptRun& run);

 private:
  struct Buried {
    std::uint64_t epoch = 0;
    Nanos at{};
  };
  Room& room_;
  std::map<ConnectionId, std::uint64_t> epochs_;
  std::map<std::string, Buried> buried_;  // by key and attempt
};

}  // namespace simulation
