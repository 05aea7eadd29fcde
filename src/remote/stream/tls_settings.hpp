// SPDX-License-Identifier: MIT
// How a connection is to be encrypted, as a URL says: the same parameters for every kind of server.
#pragma once

#include "base/url.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace mortise::remote {

/// Files are PEM.
struct TlsSettings {
  std::string ca_file{};      ///< empty: what the system trusts
  std::string certificate{};  ///< ours, for servers that ask; with `key`
  std::string key{};
  std::string server_name{};  ///< what the certificate has to be for; empty: the host
  bool verify = true;
};

/// Takes `ca`, `cert`, `key`, `server-name` and `verify` from the URL.
/// @param encrypted the scheme that means TLS
/// @return nothing = the URL has another scheme: not encrypted
/// @throws Error (`misconfigured`) where they make no sense, or the scheme is another one
[[nodiscard]] std::optional<TlsSettings> read_tls(base::Url& url, base::Literal encrypted);

}  // namespace mortise::remote
