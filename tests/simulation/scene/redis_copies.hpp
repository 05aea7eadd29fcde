// SPDX-License-Identifier: MIT
// Watches at a server what becomes of requests that arrive late (S5). A request that takes is void
// soon after it was sent, by the clock of its server, and takes nothing from then on.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/plan.hpp"
#include "simulation/world/network.hpp"

#include <string>

namespace simulation {

class RedisCopies {
 public:
  explicit RedisCopies(const Plan& plan) : steps_(plan.steps) {}
  /// A script ran at that server. @return what must not be; empty = nothing
  [[nodiscard]] std::string look(const Host& server, const redis::ScriptRun& run) const;

 private:
  const bool steps_;  // the server's clock does
};

}  // namespace simulation
