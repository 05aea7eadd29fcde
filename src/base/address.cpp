// SPDX-License-Identifier: MIT
// Reads addresses as users write them, and refuses in words that repeat no secret.
#include "base/address.hpp"

#include <mortise/error.hpp>

#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace mortise::base {
namespace {

[[noreturn]] void refuse(std::string_view backend, std::string_view text, const char* why) {
  // What holds an '@' may be the rest of a password that nobody escaped, and what holds a control
  // character may forge the line of a log.
  const auto fine = [](char c) { return c > 0x1f && c != 0x7f && c != '@'; };
  const bool quotable = std::all_of(text.begin(), text.end(), fine);
  throw LockError(Failure(Errc::misconfigured,
                          std::string(backend) + ": address" +
                              (quotable ? " '" + std::string(text) + "'" : "") + ": " + why));
}

std::optional<std::uint16_t> number(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc{} || stop != end || port == 0) return std::nullopt;
  return port;
}

}  // namespace

bool Address::is_host(std::string_view text) noexcept {
  constexpr std::size_t longest = 255;  // of a name, and longer than any number
  const auto fine = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view(".-_:%").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), fine);
}

Address Address::parse(std::string_view text, std::string_view backend,
                       std::uint16_t default_port) {
  std::string_view host = text;
  std::optional<std::string_view> port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) refuse(backend, text, "no ']' behind the '['");
    host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':')
      refuse(backend, text, "only a port may follow the ']'");
    if (!rest.empty()) port = rest.substr(1);
    if (host.find(':') == std::string_view::npos)
      refuse(backend, text, "no IPv6 number inside of []");
  } else if (const std::size_t colon = text.find(':'); colon == text.rfind(':')) {
    host = text.substr(0, colon);
    if (colon != std::string_view::npos) port = text.substr(colon + 1);
  }
  // With more than one colon and no brackets it is an IPv6 number, which leaves no room for a port.
  if (host.empty()) refuse(backend, text, "no host");
  if (!is_host(host)) refuse(backend, text, "a character that no host name has");
  Address address;
  address.host = std::string(host);
  address.port = default_port;
  if (port) {
    const std::optional<std::uint16_t> value = number(*port);
    if (!value) refuse(backend, text, "the port is no number from 1 to 65535");
    address.port = *value;
  }
  return address;
}

Address Address::of_socket(std::string path, std::string_view backend) {
  constexpr std::size_t longest = sizeof(sockaddr_un::sun_path) - 1;
  const bool fits = path.starts_with('/') && path.size() > 1 && path.size() <= longest &&
                    path.find('\0') == std::string::npos;
  if (!fits) {
    throw LockError(Failure(
        Errc::misconfigured,
        std::string(backend) + ": the URL has a socket path of " + std::to_string(path.size()) +
            " bytes; the path of a unix socket begins with '/', and has up to " +
            std::to_string(longest) + " bytes without a NUL"));
  }
  return {.host = {}, .port = 0, .path = std::move(path)};
}

std::string Address::text() const {
  if (!path.empty()) return path;
  const bool bare_colons = host.find(':') != std::string::npos;
  return (bare_colons ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace mortise::base
