// SPDX-License-Identifier: MIT
#include "support/fake_server.hpp"

#include "support/free_port.hpp"
#include "support/loopback.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

namespace mortise::test {

FakeServer::FakeServer(Answers answers) : answers_(std::move(answers)) {
  // Another program may take a port between its choice and its use.
  for (int attempt = 0; attempt < ports_to_try && listener_ < 0; ++attempt) {
    port_ = free_port();
    const sockaddr_in address = loopback_address(port_);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_, SOMAXCONN) != 0) {
      ::close(std::exchange(listener_, -1));
    }
  }
  if (listener_ < 0) throw std::system_error(errno, std::generic_category(), "a fake server");
  thread_ = std::thread([this] { serve(); });
}

FakeServer::~FakeServer() {
  ends_.store(true);
  thread_.join();
  ::close(listener_);
}

void FakeServer::serve() {
  std::map<int, std::size_t> reads;  // of each connection
  constexpr int a_look = 10;         // ms
  while (!ends_.load()) {
    std::vector<pollfd> polled{{.fd = listener_, .events = POLLIN, .revents = 0}};
    for (const auto& [fd, count] : reads) {
      polled.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    }
    if (::poll(polled.data(), polled.size(), a_look) <= 0) continue;
    if (polled.front().revents != 0) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) reads[fd] = 0;
      if (fd >= 0) accepted_.fetch_add(1);
    }
    for (std::size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      const int fd = polled[i].fd;
      std::array<char, 4096> buffer{};
      const auto got = ::recv(fd, buffer.data(), buffer.size(), 0);
      Answer answer{.hangs_up = got <= 0};
      if (got > 0) answer = answers_({buffer.data(), static_cast<std::size_t>(got)}, reads[fd]++);
      if (!answer.bytes.empty()) {
        static_cast<void>(::send(fd, answer.bytes.data(), answer.bytes.size(), MSG_NOSIGNAL));
      }
      if (!answer.hangs_up) continue;
      ::close(fd);
      reads.erase(fd);
    }
  }
  for (const auto& [fd, count] : reads) ::close(fd);
}

}  // namespace mortise::test
