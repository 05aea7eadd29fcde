// SPDX-License-Identifier: MIT
// One request of a client, on its way through the servers.
#pragma once

#include "simulation/server.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace simulation::zookeeper {

/// Who a connection has proven to be.
struct Identity {
  std::string scheme{};
  std::string id{};
  bool operator==(const Identity&) const = default;
};
using Identities = std::shared_ptr<const std::vector<Identity>>;

struct Request {
  std::optional<ConnectionId> connection{};  ///< nothing: a server's own
  std::int64_t session = 0;
  std::int32_t cxid = 0;
  std::int32_t type = 0;
  std::string body{};
  Identities who{};
  std::size_t owner = 0;  ///< the server to which the client is connected
  bool throttled = false;
  std::int32_t code = 0;  ///< why there is nothing to be carried out
};

}  // namespace simulation::zookeeper
