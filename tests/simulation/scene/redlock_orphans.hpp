// SPDX-License-Identifier: MIT
// Watches that no living client has a majority at the servers that none of its owners knows of
// (S5): it would keep the name until its lease has ended.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/attempt_clients.hpp"
#include "simulation/scene/judge.hpp"
#include "simulation/scene/plan.hpp"
#include "simulation/world/room.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace simulation {

class RedlockOrphans {
 public:
  /// @param clients the grants of a client that has ended end by themselves
  RedlockOrphans(Room& room, const AttemptClients& clients, const Plan& plan)
      : room_(room), clients_(clients), steps_(plan.steps), names_(plan.names) {}
  void watch(redis::RedisModel& server) { servers_.push_back(&server); }
  /// Asked every second. @param quiet for how long nothing has befallen anybody
  [[nodiscard]] std::optional<Verdict> look(const Judge& judge, Nanos quiet);

 private:
  /// What is taken back is owed to servers that refuse it, or are away: a second for a connection
  /// whose answers do not come, one until it is tried again.
  static constexpr Nanos soon = 5s;

  using Grant = std::pair<std::string, std::uint64_t>;  // an attempt, and the number of its hold
  [[nodiscard]] std::set<Grant> holders(std::size_t name) const;

  Room& room_;
  const AttemptClients& clients_;
  const bool steps_;
  std::vector<redis::RedisModel*> servers_;
  std::vector<std::map<Grant, Nanos>> names_;  // of which nobody knows, since when
};

}  // namespace simulation
