// SPDX-License-Identifier: MIT
// Who is to be told once of a path: the watches of one kind that one server keeps.
#pragma once

#include "simulation/server.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace simulation::zookeeper {

struct PathHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view path) const noexcept {
    return std::hash<std::string_view>{}(path);
  }
};

class WatchTable {
 public:
  void add(std::string_view path, ConnectionId who);
  /// @return whether there was one.
  bool remove(std::string_view path, ConnectionId who);
  /// @return whether anyone has one.
  [[nodiscard]] bool contains(std::string_view path) const {
    return by_path_.find(path) != by_path_.end();
  }
  /// @return whether it has one of anything.
  [[nodiscard]] bool has(ConnectionId who) const { return by_connection_.contains(who); }
  /// Ends all watches of a path. @return whose they were, in the order in which they were set.
  std::vector<ConnectionId> trigger(std::string_view path);
  /// The connection has gone.
  void forget(ConnectionId who);
  void clear();
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  std::unordered_map<std::string, std::vector<ConnectionId>, PathHash, std::equal_to<>> by_path_;
  std::map<ConnectionId, std::set<std::string, std::less<>>> by_connection_;
  std::size_t count_ = 0;
};

/// A server's watches; those of data are those of existence, too.
struct Watches {
  WatchTable data{};
  WatchTable children{};
};

}  // namespace simulation::zookeeper
