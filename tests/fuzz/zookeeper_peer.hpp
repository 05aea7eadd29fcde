// SPDX-License-Identifier: MIT
// A ZooKeeper server's end of one connection, which says what it is told to say.
#pragma once

#include "fuzz/fuzz.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <string_view>

namespace mortise::fuzz {

/// @return the four bytes of a number.
inline std::string zookeeper_number(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xffU);
  return bytes;
}

/// The server's end of one connection.
class ZooKeeperPeer {
 public:
  ZooKeeperPeer() : fd_(::accept(listener(), nullptr, nullptr)) {
    const int on = 1;  // or a second answer would wait for the first one's acknowledgement
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~ZooKeeperPeer() {
    // No port of this machine has to remember it.
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(fd_);
  }
  ZooKeeperPeer(const ZooKeeperPeer&) = delete;
  ZooKeeperPeer& operator=(const ZooKeeperPeer&) = delete;

  static int listener() {
    static const int fd = [] {
      const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      expect(::bind(made, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "a port");
      expect(::listen(made, 1) == 0, "a server");
      return made;
    }();
    return fd;
  }
  static std::string address() {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(listener(), reinterpret_cast<sockaddr*>(&address), &size);
    return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }

  void send(std::string_view bytes) const { ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  void send_frame(const std::string& body) const {
    send(zookeeper_number(static_cast<std::uint32_t>(body.size())) + body);
  }
  /// @return the number of the oldest request that is not answered; 0 where there is none.
  std::uint32_t next() {
    std::array<char, 8192> bytes{};
    const ssize_t got = ::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) received_.append(bytes.data(), static_cast<std::size_t>(got));
    for (std::uint32_t size = word(0); received_.size() >= size + 4 && size > 0; size = word(0)) {
      if (greeted_ && (word(4) >> 31U) == 0) requests_.push_back(word(4));
      greeted_ = true;
      received_.erase(0, size + 4);
    }
    if (requests_.empty()) return 0;
    const std::uint32_t number = requests_.front();
    requests_.pop_front();
    return number;
  }

 private:
  [[nodiscard]] std::uint32_t word(std::size_t at) const {
    std::uint32_t value = 0;
    for (const char c : received_.substr(std::min(at, received_.size()), 4)) {
      value = value << 8U | static_cast<unsigned char>(c);
    }
    return value;
  }

  int fd_;
  std::string received_;
  std::deque<std::uint32_t> requests_;
  bool greeted_ = false;
};

}  // namespace mortise::fuzz
