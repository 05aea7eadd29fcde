// SPDX-License-Identifier: MIT
// Watches that no living client has a hold at the server that none of its owners knows of (S5): it
// would keep the name until its lease has ended.
#pragma once

#include "simulation/scene/judge.hpp"
#include "simulation/scene/plan.hpp"
#include "simulation/scene/postgres_servers.hpp"
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

class PostgresOrphanedGrants {
 public:
  PostgresOrphanedGrants(Room& room, PostgresServers& servers, const Plan& plan);

  /// A process, or its client, is about to end. What it was granted, or is yet, ends by itself
  /// where it cannot be taken back any more.
  void ends(const Process& process) {
    gone_.insert(&process);
    excused_.insert(&process);
  }
  /// Its client was closed, which took so long. @return what it has left behind
  [[nodiscard]] std::optional<Verdict> closed(const Process& process, Nanos took);
  [[nodiscard]] bool gone(const Process& process) const { return gone_.contains(&process); }

  /// Asked every second. @param quiet for how long nothing has befallen anybody
  [[nodiscard]] std::optional<Verdict> look(const Judge& judge, Nanos quiet);

 private:
  static constexpr std::size_t client_size = 16;  // bytes of an attempt
  /// What is taken back is taken back once more each second, over a connection that is made anew
  /// within two, perhaps.
  static constexpr Nanos soon = 5s;
  /// A client counts a lease from before it asks: for its owner it is over earlier than at the
  /// server, by what an answer takes at the longest, and nobody frees it then.
  static constexpr Nanos nearly_over = 2s;
  /// What close() has time for.
  static constexpr Nanos a_close = 999ms;  // a second, by a clock that may go faster (A1)

  /// By the numbers of the holds that are there: when somebody knew of it last.
  using Name = std::map<std::int64_t, Nanos>;
  [[nodiscard]] std::optional<Verdict> look_at(Name& name, std::size_t index, const Judge& judge,
                                               Nanos quiet);
  [[nodiscard]] bool lives(const std::string& attempt) const;
  void came_back();

  Room& room_;
  PostgresServers& servers_;
  std::vector<Name> names_;
  std::map<std::string, const Process*> clients_;  // by the beginning of their attempts
  std::set<const Process*> gone_;
  std::set<const Process*> excused_;
  std::set<std::pair<std::string, std::int64_t>> back_;
};

}  // namespace simulation
