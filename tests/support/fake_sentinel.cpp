// SPDX-License-Identifier: MIT
#include "support/fake_sentinel.hpp"

#include "support/free_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

namespace mortise::test {

FakeSentinel::FakeSentinel() {
  // Somebody may take a port between its choice and its use.
  for (int attempt = 0; attempt < 20 && listener_ < 0; ++attempt) {
    port_ = free_port();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_, 64) != 0) {
      ::close(std::exchange(listener_, -1));
    }
  }
  if (listener_ < 0) throw std::system_error(errno, std::generic_category(), "a fake sentinel");
  thread_ = std::thread([this] { serve(); });
}

FakeSentinel::~FakeSentinel() {
  ends_.store(true);
  thread_.join();
  ::close(listener_);
}

void FakeSentinel::name(std::uint16_t port, std::uint64_t epoch) {
  const std::string number = std::to_string(epoch);
  const std::string text = std::to_string(port);
  say("*4\r\n$4\r\nname\r\n$8\r\nmymaster\r\n$12\r\nconfig-epoch\r\n$" +
      std::to_string(number.size()) + "\r\n" + number + "\r\n*2\r\n$9\r\n127.0.0.1\r\n$" +
      std::to_string(text.size()) + "\r\n" + text + "\r\n");
}

void FakeSentinel::say(std::string bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ = std::move(bytes);
}

void FakeSentinel::serve() {
  std::set<int> open;
  constexpr int a_look = 10;  // ms
  while (!ends_.load()) {
    std::vector<pollfd> polled{{.fd = listener_, .events = POLLIN, .revents = 0}};
    for (const int fd : open) polled.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    if (::poll(polled.data(), polled.size(), a_look) <= 0) continue;
    if (polled.front().revents != 0) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) open.insert(fd);
    }
    for (std::size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      std::array<char, 4096> buffer{};
      const auto got = ::recv(polled[i].fd, buffer.data(), buffer.size(), 0);
      std::string answer;
      {
        const std::lock_guard lock(mutex_);
        answer = bytes_;
        if (got > 0) heard_.append(buffer.data(), static_cast<std::size_t>(got));
      }
      if (got > 0) {
        asked_.fetch_add(1);
        static_cast<void>(::send(polled[i].fd, answer.data(), answer.size(), MSG_NOSIGNAL));
      }
      if (got <= 0 || hangs_up_.load()) {
        ::close(polled[i].fd);
        open.erase(polled[i].fd);
      }
    }
  }
  for (const int fd : open) ::close(fd);
}

}  // namespace mortise::test
