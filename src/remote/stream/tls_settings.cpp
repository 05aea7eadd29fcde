// SPDX-License-Identifier: MIT
// Who says something of TLS means TLS: without the scheme for it that is refused, and not ignored.
#include "remote/stream/tls_settings.hpp"

#include <mortise/error.hpp>

namespace mortise::remote {
namespace {

[[noreturn]] void refuse(const std::string& words) {
  throw LockError(Failure(Errc::misconfigured, words));
}

}  // namespace

std::optional<TlsSettings> read_tls(base::Url& url, std::string_view encrypted) {
  TlsSettings tls;
  bool any = false;
  const auto take = [&](const char* key, std::string& into) {
    if (const auto value = url.take(key)) {
      into = *value;
      any = true;
    }
  };
  take("ca", tls.ca_file);
  take("cert", tls.certificate);
  take("key", tls.key);
  take("server-name", tls.server_name);
  std::string verify = "yes";
  take("verify", verify);
  if (verify != "yes" && verify != "no") {
    refuse("URL: parameter verify is yes or no, not '" + verify + "'");
  }
  tls.verify = verify == "yes";
  if (tls.certificate.empty() != tls.key.empty()) {
    refuse("URL: cert and key belong together");
  }
  if (url.scheme() == encrypted) return tls;
  if (any) {
    refuse("URL: ca, cert, key, server-name and verify need the scheme " + std::string(encrypted));
  }
  return std::nullopt;
}

}  // namespace mortise::remote
