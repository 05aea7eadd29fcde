// SPDX-License-Identifier: MIT
#include "simulation/redis/subscriptions.hpp"

#include <algorithm>

namespace simulation::redis {

bool Subscriptions::add(ConnectionId connection, std::string_view channel) {
  std::vector<std::string>& mine = channels_[connection];
  if (std::find(mine.begin(), mine.end(), channel) != mine.end()) return false;
  mine.emplace_back(channel);
  listeners_[std::string(channel)].push_back(connection);
  return true;
}

bool Subscriptions::remove(ConnectionId connection, std::string_view channel) {
  const auto mine = channels_.find(connection);
  if (mine == channels_.end()) return false;
  const auto at = std::find(mine->second.begin(), mine->second.end(), channel);
  if (at == mine->second.end()) return false;
  const auto all = listeners_.find(channel);
  std::erase(all->second, connection);
  if (all->second.empty()) listeners_.erase(all);
  mine->second.erase(at);  // last: `channel` may be this very text
  if (mine->second.empty()) channels_.erase(mine);
  return true;
}

const std::vector<std::string>& Subscriptions::of(ConnectionId connection) const {
  static const std::vector<std::string> none;
  const auto found = channels_.find(connection);
  return found == channels_.end() ? none : found->second;
}

const std::vector<ConnectionId>& Subscriptions::listeners(std::string_view channel) const {
  static const std::vector<ConnectionId> none;
  const auto found = listeners_.find(channel);
  return found == listeners_.end() ? none : found->second;
}

void Subscriptions::remove_all(ConnectionId connection) {
  for (const std::vector<std::string> mine = of(connection); const std::string& channel : mine) {
    remove(connection, channel);
  }
}

void Subscriptions::clear() {
  listeners_.clear();
  channels_.clear();
}

}  // namespace simulation::redis
