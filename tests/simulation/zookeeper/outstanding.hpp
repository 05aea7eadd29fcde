// SPDX-License-Identifier: MIT
// Nodes as they will be when all that is proposed is committed: what the leader looks at before it
// proposes more.
#pragma once

#include "simulation/zookeeper/tree.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace simulation::zookeeper {

class Outstanding {
 public:
  struct Record {
    std::int64_t zxid = -1;
    bool exists = false;
    Stored stat{};
    std::int32_t children = 0;
    Acls acl{};
  };

  explicit Outstanding(const Tree& tree) : tree_(tree) {}

  /// @return `exists` false: there is none, or will be none.
  [[nodiscard]] Record find(std::string_view path) const;
  void put(std::string_view path, Record record);
  /// Has its records gone: it is carried out.
  void committed(std::int64_t zxid);
  void clear();
  /// @return the nodes that a session owns, or will own.
  [[nodiscard]] std::vector<std::string> owned_by(std::int64_t session) const;

  /// Until then, what is put can be taken back.
  void begin() { undo_.emplace(); }
  void end() { undo_.reset(); }
  void roll_back();

 private:
  struct Before {
    std::string path{};
    std::optional<Record> record{};
  };

  const Tree& tree_;
  std::unordered_map<std::string, Record, PathHash, std::equal_to<>> records_;
  std::deque<std::pair<std::int64_t, std::string>> order_;
  std::optional<std::vector<Before>> undo_;
};

}  // namespace simulation::zookeeper
