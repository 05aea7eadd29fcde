// SPDX-License-Identifier: MIT
// How connections are encrypted: what is trusted, and who we are. Verification is on, at TLS 1.2 or
// newer, unless the user switches it off by name.
#pragma once

#include "remote/stream/stream.hpp"
#include "remote/stream/tls_settings.hpp"

#include <memory>
#include <mutex>
#include <string>

namespace mortise::remote {

/// Shared by the connections of a client. The files are read once when the client is made, and
/// again for a connection that comes after one of them has changed: certificates are replaced while
/// clients run. Reading the authorities that a system trusts takes tens of milliseconds and a
/// megabyte, so connections share what was read.
/// @thread_safety `wrap()` may be called concurrently
class Tls {
 public:
  /// @param who is named first where something is refused: the kind of server, "redis"
  /// @throws Error (`misconfigured`, or `exhausted` without a free descriptor) that names the
  /// file that cannot be used
  Tls(TlsSettings settings, std::string who);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  /// Wraps a connecting socket stream. A file that cannot be used any more fails the stream as
  /// `unavailable`: whoever replaces the file has not finished, and the next connection reads it
  /// again.
  [[nodiscard]] std::unique_ptr<Stream> wrap(std::unique_ptr<Stream> plain,
                                             const std::string& host) const;

 private:
  struct Context;
  enum class Read : bool { never, before };
  /// @throws Error if a file cannot be used
  [[nodiscard]] std::shared_ptr<const Context> context(Read read) const;

  const TlsSettings settings_;
  const std::string who_;
  mutable std::mutex mutex_;  // never held while a file is looked at
  mutable std::shared_ptr<const Context> kept_;
};

}  // namespace mortise::remote
