// SPDX-License-Identifier: MIT
// The first word of a URL, and what to say of one that is wrong.
#include "base/schemes.hpp"

#include <mortise/error.hpp>

#include "base/url.hpp"

#include <string>

namespace mortise::base {
namespace {

/// Of "10.0.0.1:6379" or "localhost:2181" everything before the colon reads as a scheme.
std::string_view meant_by_port(std::string_view url) {
  std::string_view port = url.substr(url.find(':') + 1);
  port = port.substr(0, port.find_first_of("/?"));
  if (port.empty() || port.find_first_not_of("0123456789") != std::string_view::npos) return {};
  if (port == "2181") return "zookeeper";
  if (port == "2281") return "zookeeper+tls";
  return port == "5432" ? "postgresql" : "redis";
}

}  // namespace

const Scheme& scheme_of(std::string_view url, std::span<const Scheme> known) {
  const std::string scheme = url_scheme(url);
  std::string offered;
  for (const Scheme& each : known) {
    if (each.name == scheme && each.open != nullptr) return each;
    if (each.name == scheme) {
      throw Error({Errc::unsupported, "URL: this build of Mortise has no backend for the scheme '" +
                                          std::string(each.name) + "'; configure it with " +
                                          std::string(each.option) + "=ON"});
    }
    if (each.open == nullptr || !each.offered) continue;
    offered += (offered.empty() ? "" : ", ") + std::string(each.name);
  }
  if (const std::string_view meant = meant_by_port(url); !meant.empty()) {
    throw Error({Errc::misconfigured, "URL: the scheme is missing; did you mean " +
                                          std::string(meant) + "://host:port?"});
  }
  // Not the scheme itself: of "user:password@host" it is the user.
  throw Error({Errc::unsupported,
               "URL: this build of Mortise has no backend for the scheme; it has " + offered});
}

}  // namespace mortise::base
