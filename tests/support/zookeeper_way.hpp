// SPDX-License-Identifier: MIT
// The way by which one ZooKeeper speaks to a port of another, which can be cut.
// Where they elect, whoever has the greater number makes the connection: where the other one made
// it, it calls back, at the address that this one gives as its own (QuorumCnxManager). So that
// address is replaced by that of the way back. Where one leads, a follower comes a little before
// the leader listens, and tries again only while it is refused (Learner): so it is kept waiting.
#pragma once

#include "base/unique_fd.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::test {

class ZooKeeperWay {
 public:
  /// Listens on 127.0.0.1 until it is destroyed.
  /// @param introduction what whoever calls says of itself, and what is said in its place; both of
  /// one length
  /// @param patience for how long a caller waits until somebody listens at the target
  ZooKeeperWay(std::uint16_t port, std::uint16_t target,
               std::pair<std::string, std::string> introduction,
               std::chrono::milliseconds patience);
  ZooKeeperWay(const ZooKeeperWay&) = delete;
  ZooKeeperWay& operator=(const ZooKeeperWay&) = delete;
  ~ZooKeeperWay();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// From now on nothing passes, and nobody learns of it.
  void cut() noexcept { cut_.store(true); }

 private:
  struct Link {
    base::UniqueFd caller;
    base::UniqueFd called;
    bool introduced = false;
  };
  void loop();
  void accept();
  /// @return the target's end; empty: nobody listens there
  [[nodiscard]] base::UniqueFd call() const;
  /// @return false: one side has gone
  bool pass(Link& link, bool from_caller) const;

  const std::uint16_t port_;
  const std::uint16_t target_;
  const std::pair<std::string, std::string> introduction_;
  const std::chrono::milliseconds patience_;
  base::UniqueFd listener_;
  std::vector<Link> links_;  // of the thread
  std::atomic<bool> cut_{false};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace mortise::test
