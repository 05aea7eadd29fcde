// SPDX-License-Identifier: MIT
// How connections are encrypted: what is trusted, and who we are. Verification is on, at TLS 1.2 or
// newer, unless the user switches it off by name.
#pragma once

#include "remote/stream/stream.hpp"

#include <memory>
#include <string>

namespace mortise::remote {

/// From the URL's parameters; files are PEM.
struct TlsSettings {
  std::string ca_file{};      ///< empty: what the system trusts
  std::string certificate{};  ///< ours, for servers that ask; with `key`
  std::string key{};
  std::string server_name{};  ///< what the certificate has to be for; empty: the host
  bool verify = true;
};

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
