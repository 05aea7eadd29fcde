// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_orphans.hpp"

#include "simulation/scene/bounds.hpp"
#include "simulation/scene/redis_key.hpp"

#include <algorithm>
#include <cctype>

namespace simulation {

// Of all scripts that ask for something in its name an attempt comes first.
void RedlockOrphans::runs(const redis::ScriptRun& run) {
  if (run.arguments.empty() || run.arguments[0].size() <= client_size) return;
  const auto is_digit = [](char each) {
    return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '-' || each == '_';
  };
  const std::string_view client = run.arguments[0].substr(0, client_size);
  if (!std::all_of(client.begin(), client.end(), is_digit)) return;
  const Connection* const from = room_.network.find(run.connection);
  if (from == nullptr) return;
  clients_.try_emplace(std::string(run.arguments[0].substr(0, client_size)), &from->process());
}

bool RedlockOrphans::lives(const std::string& attempt) const {
  const auto found = clients_.find(attempt.substr(0, client_size));
  return found != clients_.end() && !found->second->dead() && !gone_.contains(found->second);
}

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
      if (judge.knows(i, grant.second) || !lives(grant.first)) continue;
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
