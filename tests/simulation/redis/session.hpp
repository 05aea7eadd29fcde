// SPDX-License-Identifier: MIT
// One connection as the server knows it.
#pragma once

#include "simulation/redis/request_parser.hpp"
#include "simulation/server.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace simulation::redis {

/// WAIT: it hears of nothing else until so many have that much.
struct Wait {
  std::int64_t replicas = 0;
  std::int64_t offset = 0;
  std::int64_t time = 0;  ///< in ms; 0 = for ever
  std::uint64_t number = 0;
};

struct Session {
  ConnectionId connection = 0;
  std::int64_t id = 0;  ///< CLIENT ID
  std::string name;     ///< CLIENT SETNAME
  std::size_t database = 0;
  bool logged_in = false;
  bool listens = false;      ///< to a channel of either kind
  bool asking = false;       ///< ASKING: its next command may be about a slot that comes here
  bool leaves = false;       ///< is closed when what was answered is sent
  std::int64_t written = 0;  ///< of the stream to replicas, behind its last command
  std::optional<Wait> waits{};
  RequestParser parser;
};

}  // namespace simulation::redis
