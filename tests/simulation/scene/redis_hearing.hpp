// SPDX-License-Identifier: MIT
// What a client must have heard of a lock: that what was granted up to some number is over. Redis
// says so twice, by different connections: a waiter is answered the number of the last grant, and
// whoever is robbed by an administrator is told so by a message. What comes later of such a grant,
// an answer or a push that was held up, must not be believed.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/world/room.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace simulation {

class RedisHearing {
 public:
  RedisHearing(Room& room, redis::RedisModel& server) : room_(room), server_(server) {}
  /// Told once a client has had the time to read what had come: for this name grants up to that
  /// number are over, unless they were made to somebody else.
  std::function<void(std::size_t name, const Process& who, std::uint64_t number)> hears;
  /// The server answers.
  void runs(const redis::ScriptRun& run);
  /// It sends a message.
  void told(std::string_view channel, std::string_view message);

 private:
  void listen(ConnectionId connection, std::string_view key, std::uint64_t number);
  void comes(ConnectionId connection, std::size_t name, std::uint64_t number);

  Room& room_;
  redis::RedisModel& server_;
};

}  // namespace simulation
