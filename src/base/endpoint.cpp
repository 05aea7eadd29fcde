// SPDX-License-Identifier: MIT
// Socket addresses as text, and their ports.
#include "base/endpoint.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace mortise::base {
namespace {

// Both kinds of addresses have it at the same place.
constexpr std::size_t port_offset = offsetof(sockaddr_in, sin_port);
static_assert(port_offset == offsetof(sockaddr_in6, sin6_port));

bool has_port(const sockaddr_storage& address) noexcept {
  return address.ss_family == AF_INET || address.ss_family == AF_INET6;
}

}  // namespace

std::string Endpoint::text() const {
  if (address.ss_family == AF_UNIX) {
    sockaddr_un path{};
    std::memcpy(&path, &address, sizeof path);
    return {path.sun_path, ::strnlen(path.sun_path, sizeof path.sun_path)};
  }
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  // Numbers only, so no name server is asked.
  const int code =
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host.data(),
                    static_cast<socklen_t>(host.size()), port.data(),
                    static_cast<socklen_t>(port.size()), NI_NUMERICHOST | NI_NUMERICSERV);
  if (code != 0) return "an unknown address";
  const std::string number = host.data();
  const bool six = address.ss_family == AF_INET6;
  return (six ? "[" + number + "]" : number) + ":" + port.data();
}

std::uint16_t Endpoint::port() const noexcept {
  if (!has_port(address)) return 0;
  in_port_t ordered = 0;
  std::memcpy(&ordered, reinterpret_cast<const char*>(&address) + port_offset, sizeof ordered);
  return ntohs(ordered);
}

void Endpoint::set_port(std::uint16_t port) noexcept {
  if (!has_port(address)) return;
  const in_port_t ordered = htons(port);
  std::memcpy(reinterpret_cast<char*>(&address) + port_offset, &ordered, sizeof ordered);
}

}  // namespace mortise::base
