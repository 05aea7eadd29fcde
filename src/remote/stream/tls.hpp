// SPDX-License-Identifier: MIT
// How connections are encrypted: what is trusted, and who we are. Verification is on, at TLS 1.2 or
// newer, unless the user switches it off by name.
#pragma once

#include "remote/stream/stream.hpp"
#include "remote/stream/tls_settings.hpp"

#include <memory>
#include <string>

namespace mortise::remote {

/// Shared by the connections of a client.
class Tls {
 public:
  /// @param who is named first where something is refused: the kind of server, "redis"
  /// @throws LockError (`misconfigured`) that names the file that cannot be used
  Tls(const TlsSettings& settings, const std::string& who);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  /// Wraps a connecting socket stream.
  [[nodiscard]] std::unique_ptr<Stream> wrap(std::unique_ptr<Stream> plain,
                                             const std::string& host) const;

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace mortise::remote
