// SPDX-License-Identifier: MIT
// A private ZooKeeper for measurements, run by Java from Debian's jars on a free port of 127.0.0.1,
// placed as the server's side. It ends with this process, by its own pid.
#pragma once

#include "placement.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace mortise::bench {

/// The thread that makes it must outlive it: the kernel kills the server when that thread ends.
class ZooKeeperServer {
 public:
  /// One for each mode, and for all figures of it: Java compiles while it runs, so a server that
  /// has not had a load for some seconds says nothing. Returns when it has.
  static ZooKeeperServer& warm(Mode mode);

  ZooKeeperServer(const ZooKeeperServer&) = delete;
  ZooKeeperServer& operator=(const ZooKeeperServer&) = delete;
  ~ZooKeeperServer();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::string url() const;
  /// @return what it answers to a four-letter word.
  [[nodiscard]] std::string ask(const std::string& word) const;
  /// @return how many watches its clients have set.
  [[nodiscard]] int watches() const;

 private:
  explicit ZooKeeperServer(Mode mode);
  [[nodiscard]] bool launch(Mode mode);
  [[nodiscard]] bool ended();
  void end() noexcept;

  std::string directory_;
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
};

/// Runs the floor, a program of its own, on the CPU of the calling thread, and @return the figure
/// that it prints.
[[nodiscard]] double raw_zookeeper(const std::string& what, const ZooKeeperServer& server);

}  // namespace mortise::bench
