// SPDX-License-Identifier: MIT
// The nodes and sessions of one server, as far as it has carried out the leader's transactions. A
// copy is a snapshot.
#pragma once

#include "simulation/zookeeper/txn.hpp"
#include "simulation/zookeeper/watches.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace simulation::zookeeper {

/// @return all rights for anyone.
[[nodiscard]] const Acls& open_acl();

/// @return what is before the last slash: "/a" of "/a/b", nothing of "/a".
[[nodiscard]] inline std::string_view parent_of(std::string_view path) noexcept {
  return path.substr(0, path.rfind('/'));
}
/// @return what is after it.
[[nodiscard]] inline std::string_view name_of(std::string_view path) noexcept {
  return path.substr(path.rfind('/') + 1);
}

class Tree {
 public:
  /// Who is told of watches.
  class Audience {
   public:
    virtual ~Audience() = default;
    /// @param acl of the node: whoever may not read it is not told; nullptr: anyone is
    virtual void tell(ConnectionId who, std::int32_t event, std::string_view path,
                      const Acls& acl) = 0;
  };

  Tree();

  /// Carries it out. What cannot be done any more is not: the leader has looked before.
  /// @return what came of each change
  std::vector<Result> apply(const Txn& txn, Watches& watches, Audience& audience);

  /// @param path of nothing is the root's, as for the server. @return nullptr: there is none.
  [[nodiscard]] const Node* find(std::string_view path) const;
  /// @return the zxid of the last transaction.
  [[nodiscard]] std::int64_t last() const noexcept { return last_; }
  /// @return time-outs in milliseconds.
  [[nodiscard]] const std::map<std::int64_t, std::int32_t>& sessions() const noexcept {
    return sessions_;
  }
  /// @return the paths of a session's own nodes.
  [[nodiscard]] std::vector<std::string> owned_by(std::int64_t session) const;
  [[nodiscard]] const std::set<std::string>& containers() const noexcept { return containers_; }
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

 private:
  struct Step;
  Result apply(const Change& change, const Step& step);
  Result create(const Change& change, const Step& step, std::int64_t owner);
  void remove(const std::string& path, const Step& step);
  void end_session(const Change& change, const Step& step);
  [[nodiscard]] Node* node(std::string_view path);

  std::unordered_map<std::string, Node, PathHash, std::equal_to<>> nodes_;
  std::map<std::int64_t, std::int32_t> sessions_;
  std::map<std::int64_t, std::set<std::string>> ephemerals_;
  std::set<std::string> containers_;
  std::int64_t last_ = 0;
};

}  // namespace simulation::zookeeper
