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
    trouble_ = "cannot open a socket on the loopback: " + std::generic_category().message(errno);
  }
  port_ = std::to_string(ntohs(address.sin_port));
}

// "connection to server at "127.0.0.1", port 41234 failed: ...", in the language of the program.
void Lure::hide_in(std::string& words) const {
  const std::size_t number = words.find(number_);
  const std::size_t port = words.find(port_, number);
  if (number == std::string::npos || port == std::string::npos) return;
  const std::size_t end = words.find(": ", port);
  if (end == std::string::npos) {
    words.clear();
  } else {
    words.erase(0, end + 2);
  }
}

}  // namespace mortise::postgres
