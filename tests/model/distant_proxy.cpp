// SPDX-License-Identifier: MIT
#include "model/distant_proxy.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace mortise::model {

namespace {

constexpr timeval read_limit{.tv_sec = 10, .tv_usec = 0};

}  // namespace

DistantProxy::DistantProxy(std::uint16_t target_port, std::uint64_t seed,
                           test::ProxyProtocol protocol) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  line_ = ends[0];
  ::setsockopt(line_, SOL_SOCKET, SO_RCVTIMEO, &read_limit, sizeof read_limit);
  try {
    process_ = Process::fork_child([&] {
      ::close(ends[0]);
      return serve(ends[1], target_port, {.seed = seed, .protocol = protocol});
    });
    ::close(ends[1]);
    port_ = static_cast<std::uint16_t>(answer());
  } catch (...) {
    ::close(line_);
    throw;
  }
}

DistantProxy::~DistantProxy() { ::close(line_); }

std::string DistantProxy::url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

std::uint64_t DistantProxy::deliver(const Letter& letter) const {
  if (::send(line_, &letter, sizeof letter, MSG_NOSIGNAL) != sizeof letter) {
    throw std::runtime_error("the proxy's process has gone");
  }
  return answer();
}

std::uint64_t DistantProxy::answer() const {
  std::uint64_t value = 0;
  if (::recv(line_, &value, sizeof value, 0) != sizeof value) {
    throw std::runtime_error("the proxy's process does not answer");
  }
  return value;
}

int DistantProxy::serve(int line, std::uint16_t target_port, const test::ProxyOptions& options) {
  test::Proxy proxy(target_port, options);
  std::uint64_t value = proxy.port();
  Letter letter;
  while (::send(line, &value, sizeof value, MSG_NOSIGNAL) == sizeof value &&
         ::recv(line, &letter, sizeof letter, 0) == sizeof letter) {
    value = letter.read(proxy, letter.order.data());
  }
  return 0;
}

}  // namespace mortise::model
