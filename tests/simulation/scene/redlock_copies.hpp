// SPDX-License-Identifier: MIT
// Watches at the servers what becomes of requests for votes that arrive late (S5). A request is
// void soon after it was sent, by the clock of its server, and brings no vote from then on. And
// none frees a vote of a later step of its attempt.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/plan.hpp"
#include "simulation/world/network.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace simulation {

class RedlockCopies {
 public:
  explicit RedlockCopies(const Plan& plan) : steps_(plan.steps) {}
  /// A script ran at that server. @return what must not be; empty = nothing
  [[nodiscard]] std::string look(const Host& server, const redis::ScriptRun& run);

 private:
  const bool steps_;  // the servers' clocks do
  /// In which step a server voted, by the server, the key and the attempt.
  std::map<std::pair<const Host*, std::string>, std::uint64_t> votes_;
};

}  // namespace simulation
