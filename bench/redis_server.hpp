// SPDX-License-Identifier: MIT
// A private redis-server for one measurement: a free port of 127.0.0.1, nothing written to disk,
// placed as the server's side. It ends with the object, by its own pid.
#pragma once

#include "placement.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace mortise::bench {

/// The thread that makes it must outlive it: the kernel kills the server when that thread ends.
class RedisServer {
 public:
  /// Returns when it answers. @throws std::runtime_error where it does not, or is not installed
  explicit RedisServer(Mode mode);
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  ~RedisServer();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::string url() const;
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  [[nodiscard]] bool launch(Mode mode);
  [[nodiscard]] bool answers() const;
  [[nodiscard]] bool ended();
  void end() noexcept;

  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace mortise::bench
