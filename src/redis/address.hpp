// SPDX-License-Identifier: MIT
// Where a server listens, as the user wrote it: a host name or number with a port, or the path of a
// unix socket. Not resolved yet: see Resolver.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::redis {

struct Address {
  std::string host{};
  std::uint16_t port = 6379;
  std::string path{};  ///< of a unix socket; the host is empty then

  /// Parses "host", "host:port", "[::1]:port", "::1".
  /// @throws LockError (`misconfigured`) that names the text
  static Address parse(std::string_view text);
  /// @return the address for messages: "10.0.0.1:6379", "[::1]:6379", "/run/redis.sock".
  [[nodiscard]] std::string text() const;
};

}  // namespace mortise::redis
