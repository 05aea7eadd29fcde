// SPDX-License-Identifier: MIT
// Watches at a server what comes of requests that are sent again (S5): each tells the number of its
// connection, which is one and the same on a connection, or the step of its attempt, of which none
// asks for the lock behind a later one; and what is older than a request of the same attempt that
// was answered changes nothing.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/world/room.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace simulation {

class RedisCopies {
 public:
  explicit RedisCopies(Room& room) : room_(room) {}
  /// @return what must not be; empty = nothing
  [[nodiscard]] std::string look(const redis::ScriptRun& run);

 private:
  struct Tombstone {
    std::uint64_t number = 0;
    Nanos at{};
  };
  /// @return what is wrong with the number of a request; empty = nothing
  [[nodiscard]] std::string check(ConnectionId connection, std::string_view attempt,
                                  std::uint64_t number);

  Room& room_;
  std::map<ConnectionId, std::uint64_t> epochs_;
  std::unordered_map<std::string, Tombstone> tombstones_;  // by key and attempt
};

}  // namespace simulation
