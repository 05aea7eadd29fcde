// SPDX-License-Identifier: MIT
// What a host name leads to.
#pragma once

#include <mortise/error.hpp>

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mortise::base {

/// One socket address to connect to.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
  [[nodiscard]] std::string text() const;
  /// @return that of an IPv4 or IPv6 address; 0 = it has none.
  [[nodiscard]] std::uint16_t port() const noexcept;
  /// Does nothing to an address that has none.
  void set_port(std::uint16_t port) noexcept;
};

/// What a lookup found: endpoints, or the words of the failure and its code.
struct Resolution {
  std::vector<Endpoint> endpoints{};
  std::string error{};
  Errc code = Errc::unavailable;
};

}  // namespace mortise::base
