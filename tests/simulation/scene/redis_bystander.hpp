// SPDX-License-Identifier: MIT
// Somebody who sends a script to a server at just this moment, and of whom nothing else is
// simulated: one of a crowd, an administrator.
#pragma once

#include "redis/store/scripts.hpp"
#include "simulation/redis/redis_server.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simulation {

/// Not to be asked from the middle of another script.
class RedisBystander {
 public:
  /// @param connection of the server's side only: nobody else has it
  RedisBystander(redis::RedisModel& server, ConnectionId connection)
      : server_(server), connection_(connection) {}
  void comes() { server_.opened(connection_); }
  void goes() { server_.closed(connection_); }
  void run(const mortise::redis::Script& script, const std::string& key,
           const std::vector<std::string>& arguments) {
    std::string bytes = "*" + std::to_string(4 + arguments.size()) + "\r\n";
    for (const std::string_view word :
         {std::string_view("EVAL"), script.text, std::string_view("1"), std::string_view(key)}) {
      add(bytes, word);
    }
    for (const std::string& word : arguments) add(bytes, word);
    ++requests_;
    server_.received(connection_, bytes);
  }
  [[nodiscard]] std::uint64_t requests() const noexcept { return requests_; }

 private:
  static void add(std::string& bytes, std::string_view word) {
    bytes.append("$").append(std::to_string(word.size())).append("\r\n");
    bytes.append(word).append("\r\n");
  }
  redis::RedisModel& server_;
  const ConnectionId connection_;
  std::uint64_t requests_ = 0;
};

}  // namespace simulation
