// SPDX-License-Identifier: MIT
// Three private ZooKeepers that elect one of them: what serves on when one of them dies.
#pragma once

#include "support/zookeeper_server.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {

/// Starts with the object, ends with it. Not thread-safe, and bound to its thread as a server is.
class ZooKeeperEnsemble {
 public:
  static constexpr std::size_t size = 3;

  /// Returns when all three serve. @throws std::runtime_error where they do not in 60 s
  explicit ZooKeeperEnsemble(ZooKeeperServerOptions options = {});

  /// One that all tests of this process share, as `ZooKeeperServer::shared()`; complete.
  static ZooKeeperEnsemble& shared();

  [[nodiscard]] ZooKeeperServer& server(std::size_t which) { return *servers_.at(which); }
  /// @return zookeeper://all three/rest
  [[nodiscard]] std::string url(const std::string& rest) const;
  /// Which one leads now; waits until one does, and most serve.
  [[nodiscard]] std::size_t leader();
  /// Any one that follows.
  [[nodiscard]] std::size_t follower() { return (leader() + 1) % size; }
  /// Starts and resumes whatever does not run, and waits until all serve.
  void complete();
  /// At a server that serves now.
  [[nodiscard]] ZooKeeperTalk talk();

 private:
  std::vector<std::unique_ptr<ZooKeeperServer>> servers_;
};

}  // namespace mortise::test
