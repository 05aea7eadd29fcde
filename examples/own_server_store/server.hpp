// SPDX-License-Identifier: MIT
// A small lock server. A client sends lines of text, and gets one line back for each. lines.hpp
// describes the lines. A client that waits for a name gets one line more when its turn comes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace own {

/// The server is a process of its own, which ends with this object. It listens on 127.0.0.1.
class LockServer {
 public:
  /// @param port 0 = a free one
  explicit LockServer(std::uint16_t port = 0);
  LockServer(const LockServer&) = delete;
  LockServer& operator=(const LockServer&) = delete;
  ~LockServer();
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  // As an administrator.

  /// Frees a name, whichever client holds it.
  void wipe(const std::string& name);
  /// @return how many attempts wait, for any name.
  [[nodiscard]] std::size_t waiters() const;
  /// @return how many lines of clients the server has answered.
  [[nodiscard]] std::uint64_t requests() const;

 private:
  [[nodiscard]] std::string ask(const std::string& line) const;

  std::uint16_t port_ = 0;
  pid_t process_ = -1;
};

}  // namespace own
