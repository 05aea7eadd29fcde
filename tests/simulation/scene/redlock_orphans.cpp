// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_orphans.hpp"

#include "simulation/scene/bounds.hpp"

#include <algorithm>

namespace simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t client_size = 16;  // of an attempt's id

/// What is taken back is owed to servers that refuse it, or are away: a second for a connection
/// whose answers do not come, one until it is tried again.
constexpr Nanos soon = 5s;

}  // namespace

// Of all scripts that ask for something in its name an attempt comes first.
void RedlockOrphans::runs(const redis::ScriptRun& run) {
  if (run.arguments.empty() || run.arguments[0].size() <= client_size) return;
  if (run.arguments[0].find_first_not_of("0123456789abcdef") < client_size) return;
  const Connection* const from = room_.network.find(run.connection);
  if (from == nullptr) return;
  clients_.try_emplace(std::string(run.arguments[0].substr(0, client_size)), &from->process());
}

bool RedlockOrphans::lives(const std::string& attempt) const {
  const auto found = clients_.find(attempt.substr(0, client_size));
  return found != clients_.end() && !found->second->dead() && !gone_.contains(found->second);
}

std::optional<RedlockOrphans::Grant> RedlockOrphans::holder(std::size_t name) const {
  std::map<Grant, std::size_t> votes;
  for (redis::RedisModel* const server : servers_) {
    redis::LockSeen seen = server->lock("mortise:{" + lock_name(name) + "}");
    if (!seen.held) continue;
    Grant grant(std::move(seen.attempt), seen.number);
    if (++votes[grant] * 2 > servers_.size()) return grant;
  }
  return std::nullopt;
}

std::optional<Verdict> RedlockOrphans::look(const Judge& judge, Nanos quiet) {
  const Nanos now = room_.world.now();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    Name& name = names_[i];
    const std::optional<Grant> grant = holder(i);
    const bool another = !grant || std::exchange(name.grant, *grant) != *grant;
    if (another || judge.knows(i, grant->second) || !lives(grant->first)) {
      name.since = now;
      continue;
    }
    // Where a server's clock was set back it keeps what has lapsed for its owner.
    if (steps_ || std::min(now - name.since, quiet) < soon) continue;
    return Verdict{"S5", lock_name(i) + " is held by " + grant->first +
                             ", of whom nobody knows, number " + std::to_string(grant->second)};
  }
  return std::nullopt;
}

}  // namespace simulation
