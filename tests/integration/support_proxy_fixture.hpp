// SPDX-License-Identifier: MIT
// What the tests of the proxy share: a client that sees every byte, and a private Redis server with
// the proxy in front of it.
#pragma once

#include "support/proxy.hpp"
#include "support/redis_server.hpp"
#include "support/redis_talk.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace mortise::test {

inline const RedisTalk::Command increment{"EVAL", "return redis.call('INCR', KEYS[1])", "1", "key"};

/// A client that sees every byte, and how a connection ends.
class Plain {
 public:
  explicit Plain(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) error_ = errno;
  }
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;
  ~Plain() { ::close(fd_); }

  void send(std::string_view bytes) const {
    ASSERT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// Reads until so many bytes are there, or the end. @return false: not in time
  [[nodiscard]] bool read(std::size_t bytes) {
    while (got_.size() < bytes && !ended_) {
      pollfd polled{.fd = fd_, .events = POLLIN, .revents = 0};
      if (::poll(&polled, 1, 20'000) != 1) return false;
      std::array<char, 4096> buffer;
      const ssize_t size = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (size < 0) error_ = errno;
      ended_ = size <= 0;
      if (size > 0) got_.append(buffer.data(), static_cast<std::size_t>(size));
      if (size > 0) ++pieces_;
    }
    return true;
  }
  [[nodiscard]] bool read_to_end() { return read(std::string::npos); }
  /// Goes without a farewell.
  void vanish() const { reset_connection(fd_); }
  [[nodiscard]] const std::string& got() const { return got_; }
  [[nodiscard]] int pieces() const { return pieces_; }
  [[nodiscard]] int error() const { return error_; }  ///< of connecting or reading; 0: none

 private:
  int fd_;
  std::string got_;
  int pieces_ = 0;
  int error_ = 0;
  bool ended_ = false;
};

class ProxyTest : public testing::Test {
 protected:
  void SetUp() override {
    MORTISE_NEEDS_REDIS_SERVER();
    server_ = std::make_unique<RedisServer>();
    proxy_ = std::make_unique<Proxy>(server_->port());
  }
  [[nodiscard]] RedisServer& server() { return *server_; }
  [[nodiscard]] Proxy& proxy() { return *proxy_; }
  /// Through the proxy.
  [[nodiscard]] RedisTalk talk() { return RedisTalk(proxy_->port()); }
  /// The same, with a subscription to "inbox" that is confirmed.
  [[nodiscard]] RedisTalk inbox() {
    RedisTalk out = talk();
    out.expect_ok({"SUBSCRIBE", "inbox"});
    return out;
  }
  [[nodiscard]] std::int64_t publish(const std::string& text) {
    return server_->talk().expect_ok({"PUBLISH", "inbox", text}).integer;
  }
  /// What the server has under "key", seen directly.
  [[nodiscard]] std::string value() { return server_->talk().command({"GET", "key"}).text; }

 private:
  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<Proxy> proxy_;
};

}  // namespace mortise::test
