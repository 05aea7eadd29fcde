// SPDX-License-Identifier: MIT
// A socket to a server of this machine, every step of which has an end: what the tests' own clients
// stand on.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>

namespace mortise::test {

/// @throws Error with the words of `errno`
template <class Error>
[[noreturn]] void fail_with_errno(const std::string& what) {
  throw Error(what + ": " + std::generic_category().message(errno));
}

/// @return whether there was one of the events in time.
template <class Error>
bool wait_for(int fd, short events, std::chrono::steady_clock::time_point until) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd polled{.fd = fd, .events = events, .revents = 0};
    const int ready = ::poll(&polled, 1, std::max(0, static_cast<int>(left.count())));
    if (ready >= 0) return ready > 0;
    if (errno != EINTR) fail_with_errno<Error>("poll");
  }
}

/// @return the address of a port of 127.0.0.1.
[[nodiscard]] inline sockaddr_in loopback_address(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Which of this machine's own addresses: 127.0.0.1 or ::1.
enum class Loopback { four, six };

/// @return a connected socket that does not block.
template <class Error>
int connect_to(std::uint16_t port, std::chrono::steady_clock::time_point until,
               Loopback loopback = Loopback::four) {
  const bool is_six = loopback == Loopback::six;
  const int fd =
      ::socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) fail_with_errno<Error>("socket");
  const sockaddr_in four = loopback_address(port);
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  six.sin6_addr = IN6ADDR_LOOPBACK_INIT;
  const auto* const address =
      is_six ? reinterpret_cast<const sockaddr*>(&six) : reinterpret_cast<const sockaddr*>(&four);
  int error = 0;
  if (::connect(fd, address, is_six ? sizeof six : sizeof four) != 0) error = errno;
  if (error == EINPROGRESS) {
    socklen_t size = sizeof error;
    if (!wait_for<Error>(fd, POLLOUT, until)) {
      error = ETIMEDOUT;
    } else if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
      error = errno;
    }
  }
  if (error != 0) {
    ::close(fd);
    errno = error;
    fail_with_errno<Error>("cannot connect to " + std::string(is_six ? "[::1]:" : "127.0.0.1:") +
                           std::to_string(port));
  }
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  // Tests look at their servers thousands of times; none of those connections shall linger.
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  return fd;
}

}  // namespace mortise::test
