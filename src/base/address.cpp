// SPDX-License-Identifier: MIT
// Reads addresses as users write them.
#include "base/address.hpp"

#include "base/url.hpp"
#include "base/whole_number.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace mortise::base {
namespace {

std::optional<std::uint16_t> number(std::string_view text) noexcept {
  return whole_number<std::uint16_t>(text, 1);
}

/// Of "shop:secret:6379", for which somebody forgot the '@', the middle would be a password.
bool is_ipv6_number(std::string_view text) noexcept {
  in6_addr number{};
  char without_zone[INET6_ADDRSTRLEN] = {};
  text = text.substr(0, text.find('%'));
  if (text.size() >= sizeof without_zone) return false;
  text.copy(without_zone, text.size());
  return ::inet_pton(AF_INET6, without_zone, &number) == 1;
}

}  // namespace

bool Address::is_host(std::string_view text) noexcept {
  constexpr std::size_t longest = 255;  // of a name, and longer than any number
  const auto fine = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view(".-_:%").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), fine) &&
         (text.find(':') == std::string_view::npos || is_ipv6_number(text));
}

Address Address::parse(std::string_view text, Literal backend, std::uint16_t default_port) {
  const auto refuse = [&](Literal why) { refuse_url({"URL: an address of ", backend, ": ", why}); };
  std::string_view host = text;
  std::optional<std::string_view> port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) refuse("the '[' has no matching ']'");
    host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') refuse("only a port may follow the ']'");
    if (!rest.empty()) port = rest.substr(1);
    if (!is_ipv6_number(host)) refuse("the text inside [] is not an IPv6 address");
  } else if (const std::size_t colon = text.find(':'); colon == text.rfind(':')) {
    host = text.substr(0, colon);
    if (colon != std::string_view::npos) port = text.substr(colon + 1);
  }
  // With more than one colon and no brackets it is an IPv6 number, which leaves no room for a port.
  if (host.empty()) refuse("the host is missing");
  if (!is_host(host)) refuse("the host is neither a name nor an IP address");
  Address address;
  address.host = std::string(host);
  address.port = default_port;
  if (port) {
    const std::optional<std::uint16_t> value = number(*port);
    if (!value) refuse("the port is not a number from 1 to 65535");
    address.port = *value;
  }
  return address;
}

Address Address::of_socket(std::string path, Literal backend) {
  static_assert(sizeof(sockaddr_un::sun_path) == 108, "the message below says 107");
  const bool fits = path.starts_with('/') && path.size() > 1 &&
                    path.size() < sizeof(sockaddr_un::sun_path) &&
                    path.find('\0') == std::string::npos;
  if (!fits) {
    refuse_url(
        {backend,
         ": URL: the path of a unix socket must begin with '/' and have at most 107 bytes, without "
         "NUL"});
  }
  return {.host = {}, .port = 0, .path = std::move(path)};
}

std::string Address::text() const {
  if (!path.empty()) return path;
  const bool bare_colons = host.find(':') != std::string::npos;
  return (bare_colons ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace mortise::base
