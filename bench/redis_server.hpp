// SPDX-License-Identifier: MIT
// A private redis-server for one measurement: a free port of 127.0.0.1, nothing of its data on
// disk, placed as the server's side. It ends with the object, by its own pid.
#pragma once

#include "placement.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace mortise::bench {

/// The thread that makes it must outlive it: the kernel kills the server when that thread ends.
class RedisServer {
 public:
  enum class Kind : char { alone, of_a_cluster };
  /// Returns when it answers. @throws std::runtime_error where it does not, or is not installed
  explicit RedisServer(Mode mode, Kind kind = Kind::alone);
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  ~RedisServer();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// @return where the others of its cluster reach it.
  [[nodiscard]] std::uint16_t cluster_port() const noexcept { return cluster_port_; }
  [[nodiscard]] std::string url() const;
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  [[nodiscard]] bool launch(Mode mode, Kind kind);
  [[nodiscard]] bool answers() const;
  [[nodiscard]] bool ended();
  void end() noexcept;

  std::uint16_t port_ = 0;
  std::uint16_t cluster_port_ = 0;
  std::string folder_;  // of a cluster's: what it writes down of the others
  pid_t pid_ = -1;
};

}  // namespace mortise::bench
