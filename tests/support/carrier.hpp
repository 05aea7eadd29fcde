// SPDX-License-Identifier: MIT
// A connector as users have them, and its misbehaviour: it leads every host to one port of this
// machine, by a socket of its own or through a pair of sockets and a thread in between.
#pragma once

#include <mortise/connector.hpp>

#include "support/loopback.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace mortise::test {

/// Shared by the connectors that it gives, which may outlive the test.
class Carrier : public std::enable_shared_from_this<Carrier> {
 public:
  enum class Way { socket, pair };
  enum class Mood { well, throws, nothing, closed, datagram, hangs };

  [[nodiscard]] static std::shared_ptr<Carrier> to(std::uint16_t port, Way way = Way::socket) {
    return std::shared_ptr<Carrier>(new Carrier(port, way));
  }
  [[nodiscard]] Connector connector() {
    return [self = shared_from_this()](const std::string& host, std::uint16_t port) {
      return self->connect(host, port);
    };
  }
  /// What comes of the calls from now on. Those that hang end with another mood, and by that.
  void set(Mood mood) {
    const std::lock_guard lock(mutex_);
    mood_ = mood;
    changed_.notify_all();
  }
  [[nodiscard]] int calls() const { return calls_; }
  /// @return what the last call was for.
  [[nodiscard]] std::string place() const {
    const std::lock_guard lock(mutex_);
    return place_;
  }

 private:
  Carrier(std::uint16_t port, Way way) : port_(port), way_(way) {}

  int connect(const std::string& host, std::uint16_t port) {
    Mood mood = Mood::well;
    {
      std::unique_lock lock(mutex_);
      place_ = host + ":" + std::to_string(port);
      ++calls_;
      changed_.wait(lock, [this] { return mood_ != Mood::hangs; });
      mood = mood_;
    }
    switch (mood) {
      case Mood::throws: throw std::runtime_error("the tunnel is shut");
      case Mood::nothing: return -1;
      case Mood::datagram: return ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
      case Mood::closed: {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ::close(fd);
        return fd;
      }
      case Mood::well:
      case Mood::hangs: break;
    }
    const int fd = connect_to<std::runtime_error>(
        port_, std::chrono::steady_clock::now() + std::chrono::seconds(5));
    return way_ == Way::socket ? fd : through_a_pair(fd);
  }

  static int through_a_pair(int server) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      fail_with_errno<std::runtime_error>("socketpair");
    }
    std::thread([server, client = ends[1]] {
      carry(client, server);
      ::close(client);
      ::close(server);
    }).detach();
    return ends[0];
  }

  /// To and fro, until one side has ended.
  static void carry(int client, int server) {
    std::array<char, 4096> bytes{};
    for (;;) {
      std::array<pollfd, 2> polled{{{.fd = client, .events = POLLIN, .revents = 0},
                                    {.fd = server, .events = POLLIN, .revents = 0}}};
      if (::poll(polled.data(), polled.size(), -1) < 0) return;
      for (const auto& each : polled) {
        if (each.revents == 0) continue;
        const ssize_t got = ::recv(each.fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (got <= 0) return;
        const int to = each.fd == client ? server : client;
        for (ssize_t sent = 0; sent < got;) {
          const ssize_t put =
              ::send(to, bytes.data() + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
          if (put < 0 && errno != EAGAIN) return;
          if (put > 0) sent += put;
          pollfd room{.fd = to, .events = POLLOUT, .revents = 0};
          if (sent < got) ::poll(&room, 1, -1);
        }
      }
    }
  }

  const std::uint16_t port_;
  const Way way_;
  std::atomic<int> calls_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Mood mood_ = Mood::well;
  std::string place_;
};

}  // namespace mortise::test
