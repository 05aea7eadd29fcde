// SPDX-License-Identifier: MIT
#include "postgres/lure.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace mortise::postgres {

// Of TCP, because libpq speaks no TLS by a unix socket.
Lure Lure::laid() {
  Lure lure;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  lure.listener =
      base::UniqueFd::open([] { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
  if (!lure.listener || ::bind(lure.listener.get(), where, size) != 0 ||
      ::listen(lure.listener.get(), 1) != 0 ||
      ::getsockname(lure.listener.get(), where, &size) != 0) {
    lure.trouble = "no socket on the loopback: " + std::generic_category().message(errno);
  }
  lure.port = std::to_string(ntohs(address.sin_port));
  return lure;
}

}  // namespace mortise::postgres
