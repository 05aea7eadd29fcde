// SPDX-License-Identifier: MIT
// What the library has left under its path of a ZooKeeper, as any other client sees it.
#pragma once

#include "support/zookeeper_talk.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {

class ZooKeeperLocks {
 public:
  /// @param root the path of the URL, "/locks"
  explicit ZooKeeperLocks(std::string root) : root_(std::move(root)) {}

  /// @return the node below which a name has its queue.
  [[nodiscard]] std::string path(const std::string& name) const;
  /// @return the nodes of a name's queue, whole paths, the holder's first.
  [[nodiscard]] std::vector<std::string> queue(ZooKeeperTalk& talk, const std::string& name) const;
  /// @return the same of a key.
  [[nodiscard]] std::vector<std::string> queue_of_key(ZooKeeperTalk& talk,
                                                      const std::string& key) const;
  /// @return the node with what is remembered of a key.
  [[nodiscard]] std::string kept(const std::string& key) const;
  /// @return how many wait, on all names and keys.
  [[nodiscard]] std::size_t waiters(ZooKeeperTalk& talk) const;
  /// @return the number at the end of a node of a queue.
  [[nodiscard]] static std::int64_t sequence(const std::string& node);

 private:
  std::string root_;
};

}  // namespace mortise::test
