// SPDX-License-Identifier: MIT
// One connection as the server knows it.
#pragma once

#include "simulation/redis/request_parser.hpp"
#include "simulation/server.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace simulation::redis {

struct Session {
  ConnectionId connection = 0;
  std::int64_t id = 0;  ///< CLIENT ID
  std::string name;     ///< CLIENT SETNAME
  std::size_t database = 0;
  bool logged_in = false;
  bool listens = false;  ///< to a channel
  bool leaves = false;   ///< is closed when what was answered is sent
  RequestParser parser;
};

}  // namespace simulation::redis
