// SPDX-License-Identifier: MIT
// Where libpq is led to when its connection is to be one that somebody else has made: it takes
// none, and connects by itself alone.
#pragma once

#include "base/unique_fd.hpp"

#include <string>

namespace mortise::postgres {

/// A listener on the loopback that never accepts. libpq begins to connect to it, and its socket is
/// exchanged before it has looked whether it is connected: not a byte goes there, or comes from
/// there, whoever else on this machine connects to it. It has to live until libpq has come through:
/// where the first try is refused libpq begins another one at the same address, which must not be
/// somebody else's by then.
///
/// Of TCP, because libpq speaks no TLS by a unix socket. A relay in its place, which would forward
/// every byte, would need a thread, could be connected to by others, and would take away what the
/// kernel knows of the real connection: see `Pq::arrived()` and `Pq::abandon()`.
class Lure {
 public:
  Lure();
  /// @return why there is none; empty: there is.
  [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }
  [[nodiscard]] const std::string& number() const noexcept { return number_; }
  [[nodiscard]] const std::string& port() const noexcept { return port_; }
  /// Takes out of libpq's words where it believes to be.
  void hide_in(std::string& words) const;

 private:
  base::UniqueFd listener_;
  std::string number_ = "127.0.0.1";
  std::string port_;
  std::string trouble_;
};

}  // namespace mortise::postgres
