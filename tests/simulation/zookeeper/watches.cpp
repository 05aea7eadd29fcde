// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/watches.hpp"

#include <algorithm>
#include <utility>

namespace simulation::zookeeper {

void WatchTable::add(std::string_view path, ConnectionId who) {
  if (!by_connection_[who].emplace(path).second) return;
  auto found = by_path_.find(path);
  if (found == by_path_.end()) found = by_path_.try_emplace(std::string(path)).first;
  found->second.push_back(who);
  ++count_;
}

bool WatchTable::remove(std::string_view path, ConnectionId who) {
  const auto mine = by_connection_.find(who);
  if (mine == by_connection_.end()) return false;
  const auto watched = mine->second.find(path);
  if (watched == mine->second.end()) return false;
  mine->second.erase(watched);
  if (mine->second.empty()) by_connection_.erase(mine);
  const auto found = by_path_.find(path);
  std::erase(found->second, who);
  if (found->second.empty()) by_path_.erase(found);
  --count_;
  return true;
}

std::vector<ConnectionId> WatchTable::trigger(std::string_view path) {
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return {};
  std::vector<ConnectionId> out = std::move(found->second);
  by_path_.erase(found);
  for (const ConnectionId who : out) {
    const auto mine = by_connection_.find(who);
    mine->second.erase(mine->second.find(path));
    if (mine->second.empty()) by_connection_.erase(mine);
  }
  count_ -= out.size();
  return out;
}

void WatchTable::forget(ConnectionId who) {
  const auto mine = by_connection_.find(who);
  if (mine == by_connection_.end()) return;
  for (const std::string& path : mine->second) {
    const auto found = by_path_.find(path);
    std::erase(found->second, who);
    if (found->second.empty()) by_path_.erase(found);
  }
  count_ -= mine->second.size();
  by_connection_.erase(mine);
}

void WatchTable::clear() {
  by_path_.clear();
  by_connection_.clear();
  count_ = 0;
}

}  // namespace simulation::zookeeper
