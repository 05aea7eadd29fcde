// SPDX-License-Identifier: MIT
// The port is whichever the kernel has free, and nobody else can listen on it meanwhile.
#include "postgres/lure.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace mortise::postgres {

Lure::Lure() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  listener_ = base::UniqueFd::open([] { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
  if (!listener_ || ::bind(listener_.get(), where, size) != 0 ||
      ::listen(listener_.get(), 1) != 0 || ::getsockname(listener_.get(), where, &size) != 0) {
    trouble_ = "no socket on the loopback: " + std::generic_category().message(errno);
  }
  port_ = std::to_string(ntohs(address.sin_port));
}

void Lure::hide_in(std::string& words) const {
  const std::string here = " at \"" + number_ + "\", port " + port_;
  const std::size_t at = words.find(here);
  if (at != std::string::npos) words.erase(at, here.size());
}

}  // namespace mortise::postgres
