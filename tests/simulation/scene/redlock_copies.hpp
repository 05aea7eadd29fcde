// SPDX-License-Identifier: MIT
// Watches at the servers what becomes of requests for votes that arrive late (S5): a server gives
// no vote to one that was sent long ago, whatever its clock shows; and it neither gives nor frees a
// vote for a step of an attempt that is older than the step of its vote.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/plan.hpp"
#include "simulation/world/room.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace simulation {

class RedlockCopies {
 public:
  RedlockCopies(Room& room, const Plan& plan) : room_(room), steps_(plan.steps) {}
  /// A script ran at the server with this number. @return what must not be; empty = nothing
  [[nodiscard]] std::string look(std::size_t server, const redis::ScriptRun& run);

 private:
  using Attempt = std::string;  // with its key in front
  Room& room_;
  const bool steps_;                                          // the servers' clocks do
  std::map<std::pair<Attempt, std::uint64_t>, Nanos> asked_;  // by step: when a server saw it first
  std::map<std::pair<std::size_t, Attempt>, std::uint64_t> votes_;  // by server: in which step
};

}  // namespace simulation
