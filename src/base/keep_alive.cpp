// SPDX-License-Identifier: MIT
#include "base/keep_alive.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace mortise::base {
namespace {

void set(int fd, int level, int name, int value) noexcept {
  static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
}

}  // namespace

void keep_alive(int fd) noexcept {
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  int domain = AF_UNIX;
  socklen_t size = sizeof domain;
  ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  if (domain == AF_UNIX) return;
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // As for PostgreSQL.
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 3);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace mortise::base
