// SPDX-License-Identifier: MIT
// A connector as users have them, and its misbehaviour: it leads every host to one port of this
// machine, by a socket of its own or through a pair of sockets and a thread in between.
#pragma once

#include <mortise/mortise.hpp>

#include "support/eventually.hpp"
#include "support/loopback.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace mortise::test {

/// @return how many descriptors this process has.
[[nodiscard]] inline std::ptrdiff_t descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// @return what a client is told again and again until these words are in it, or the last of that.
[[nodiscard]] inline Failure told(Client& client, const std::string& words) {
  Failure failure;
  EXPECT_TRUE(eventually([&] {
    try {
      client.check(std::chrono::milliseconds(100));
    } catch (const Error& error) {
      failure = {error.errc(), error.what()};
    }
    return failure.text.find(words) != std::string::npos;
  })) << failure.text;
  return failure;
}

/// Shared by the connectors that it gives, which may outlive the test.
class Carrier : public std::enable_shared_from_this<Carrier> {
 public:
  enum class Way { socket, pair };
  enum class Mood {
    well,
    slow,
    throws,
    nothing,
    closed,
    listening,
    datagram,
    hung_up,    ///< the other side has gone
    shut,       ///< nothing can be written to it
    spoken_to,  ///< somebody has said something that is no answer
    same,       ///< one number, again and again
    copies,     ///< of one connection
    hangs,
  };

  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  ~Carrier() {
    if (copies_) ::close(same_);
  }
  [[nodiscard]] static std::shared_ptr<Carrier> to(std::uint16_t port, Way way = Way::socket) {
    return std::shared_ptr<Carrier>(new Carrier(port, way));
  }
  [[nodiscard]] Connector connector() {
    return [self = shared_from_this()](const std::string& host, std::uint16_t port) {
      return self->connect(host, port);
    };
  }
  /// What comes of the calls from now on, or of those for one host. Those that hang end with
  /// another mood, and by that.
  void set(Mood mood, const std::string& host = {}) {
    const std::lock_guard lock(mutex_);
    mood_ = mood;
    only_ = host;
    changed_.notify_all();
  }
  /// Leads one host elsewhere.
  void lead(const std::string& host, std::uint16_t port) {
    const std::lock_guard lock(mutex_);
    elsewhere_[host] = port;
  }
  [[nodiscard]] int calls() const { return calls_; }
  /// @return how many of them have connected.
  [[nodiscard]] int given() const { return given_; }
  /// @return what the last call was for.
  [[nodiscard]] std::string place() const {
    const std::lock_guard lock(mutex_);
    return place_;
  }

 private:
  Carrier(std::uint16_t port, Way way) : port_(port), way_(way) {}

  int connect(const std::string& host, std::uint16_t port) {
    Mood mood = Mood::well;
    std::uint16_t to = port_;
    {
      std::unique_lock lock(mutex_);
      place_ = host + ":" + std::to_string(port);
      ++calls_;
      if (elsewhere_.contains(host)) to = elsewhere_[host];
      const auto mine = [&] { return only_.empty() || only_ == host ? mood_ : Mood::well; };
      changed_.wait(lock, [&] { return mine() != Mood::hangs; });
      mood = mine();
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
      case Mood::listening: {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ::listen(fd, 1);
        return fd;
      }
      case Mood::hung_up:
      case Mood::spoken_to: {
        const std::array<int, 2> ends = pair();
        if (mood == Mood::spoken_to) ::send(ends[1], "+PONG\r\n", 7, MSG_NOSIGNAL);
        ::close(ends[1]);
        return ends[0];
      }
      case Mood::shut: {
        const int fd = reach(to);
        ::shutdown(fd, SHUT_WR);
        return fd;
      }
      case Mood::same:
      case Mood::copies: {
        const std::lock_guard lock(mutex_);
        if (same_ < 0) same_ = reach(to);
        copies_ = mood == Mood::copies;
        return copies_ ? ::fcntl(same_, F_DUPFD_CLOEXEC, 0) : same_;
      }
      case Mood::slow: std::this_thread::sleep_for(std::chrono::milliseconds(300)); break;
      case Mood::well:
      case Mood::hangs: break;
    }
    return reach(to);
  }

  int reach(std::uint16_t port) {
    const int fd = connect_to<std::runtime_error>(
        port, std::chrono::steady_clock::now() + std::chrono::seconds(5));
    ++given_;
    return way_ == Way::socket ? fd : through_a_pair(fd);
  }

  static std::array<int, 2> pair() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      fail_with_errno<std::runtime_error>("socketpair");
    }
    return ends;
  }

  static int through_a_pair(int server) {
    const std::array<int, 2> ends = pair();
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
  std::atomic<int> given_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Mood mood_ = Mood::well;
  std::string only_;
  std::map<std::string, std::uint16_t> elsewhere_;
  int same_ = -1;
  bool copies_ = false;
  std::string place_;
};

}  // namespace mortise::test
