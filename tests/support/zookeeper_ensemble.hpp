// SPDX-License-Identifier: MIT
// Three private ZooKeepers that elect one of them: what serves on when one of them dies.
#pragma once

#include "support/zookeeper_server.hpp"
#include "support/zookeeper_way.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {

/// Starts with the object, ends with it. Not thread-safe, and bound to its thread as a server is.
class ZooKeeperEnsemble {
 public:
  static constexpr std::size_t size = 3;

  /// Whether servers can be cut off from each other while clients reach all of them.
  enum class Links { whole, severable };

  /// Returns when all three serve. @throws std::runtime_error where they do not in 60 s
  explicit ZooKeeperEnsemble(ZooKeeperServerOptions options = {}, Links links = Links::whole);

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
  /// From now on nothing moves between that server and the others, elections included, and nobody
  /// learns it at once. Of severable links.
  void cut_off(std::size_t which);
  /// At a server that serves now.
  [[nodiscard]] ZooKeeperTalk talk();

 private:
  /// The ways from one server to the ports at which another leads and elects.
  struct Way {
    std::size_t from = 0;
    std::size_t to = 0;
    std::unique_ptr<ZooKeeperWay> leading;
    std::unique_ptr<ZooKeeperWay> electing;
  };
  void make_ways();
  [[nodiscard]] std::vector<std::string> members_for(std::size_t server) const;

  std::vector<std::uint16_t> ports_;  // two of each: to lead at, and to elect at
  std::vector<Way> ways_;
  std::vector<std::unique_ptr<ZooKeeperServer>> servers_;
};

}  // namespace mortise::test
