// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_orphans.hpp"

#include "simulation/scene/bounds.hpp"
#include "simulation/scene/redis_key.hpp"

#include <algorithm>

namespace simulation {

std::set<RedlockOrphans::Grant> RedlockOrphans::holders(std::size_t name) const {
  std::map<Grant, std::size_t> votes;
  for (redis::RedisModel* const server : servers_) {
    for (const redis::HoldSeen& hold : server->lock(key_of(name)).holds) {
      ++votes[{hold.attempt, hold.number}];
    }
  }
  std::set<Grant> all;
  for (const auto& [grant, count] : votes) {
    if (count * 2 > servers_.size()) all.insert(grant);
  }
  return all;
}

std::optional<Verdict> RedlockOrphans::look(const Judge& judge, Nanos quiet) {
  const Nanos now = room_.world.now();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    std::map<Grant, Nanos> unknown;
    for (const Grant& grant : holders(i)) {
      if (judge.knows(i, grant.second) || !clients_.lives(grant.first)) continue;
      const auto before = names_[i].find(grant);
      const Nanos since = unknown[grant] = before == names_[i].end() ? now : before->second;
      // Where a server's clock was set back it keeps what has lapsed for its owner.
      if (steps_ || std::min(now - since, quiet) < soon) continue;
      return Verdict{"S5", lock_name(i) + " is held by " + grant.first +
                               ", of whom nobody knows, number " + std::to_string(grant.second)};
    }
    names_[i] = std::move(unknown);
  }
  return std::nullopt;
}

}  // namespace simulation
