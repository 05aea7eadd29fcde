// SPDX-License-Identifier: MIT
// Who says something of TLS means TLS: without the scheme for it that is refused, and not ignored.
#include "remote/stream/tls_settings.hpp"

#include <mortise/error.hpp>

namespace mortise::remote {
namespace {

using base::refuse_url;

}  // namespace

std::optional<TlsSettings> read_tls(base::Url& url, base::Literal encrypted) {
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
    refuse_url("URL: parameter verify must be yes or no");
  }
  tls.verify = verify == "yes";
  if (tls.certificate.empty() != tls.key.empty()) {
    refuse_url("URL: cert and key must be given together");
  }
  if (url.scheme() == encrypted.text()) return tls;
  if (any) {
    refuse_url({"URL: ca, cert, key, server-name and verify need the scheme ", encrypted});
  }
  return std::nullopt;
}

}  // namespace mortise::remote
