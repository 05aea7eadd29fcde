// SPDX-License-Identifier: MIT
// Where a server listens, as the user wrote it: a host name or number with a port, or the path of a
// unix socket. Not resolved yet: see Resolver.
#pragma once

#include "base/literal.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::base {

struct Address {
  std::string host{};
  std::uint16_t port = 0;
  std::string path{};  ///< of a unix socket; the host is empty then

  /// Parses "host", "host:port", "[::1]:port", "::1".
  /// @param backend whose address it is, for the message
  /// @param default_port where the text names none
  /// @throws Error (`misconfigured`) that says what is wrong, and quotes nothing:
  /// `refuse_url()`
  static Address parse(std::string_view text, Literal backend, std::uint16_t default_port);
  /// Makes the address of a unix socket of its path.
  /// @throws Error (`misconfigured`) where no socket can have such a path
  static Address of_socket(std::string path, Literal backend);
  /// @return whether that can be a host's name or number: what others say is not shown otherwise.
  [[nodiscard]] static bool is_host(std::string_view text) noexcept;
  /// @return the address for messages: "10.0.0.1:6379", "[::1]:6379", "/run/redis.sock".
  [[nodiscard]] std::string text() const;
};

}  // namespace mortise::base
