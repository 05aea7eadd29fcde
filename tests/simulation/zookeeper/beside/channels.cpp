// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/beside/channels.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace simulation::zookeeper {
namespace {

constexpr std::chrono::seconds patience{20};

class ModelChannel final : public Channel {
 public:
  ModelChannel(VirtualSites& sites, std::size_t which, Server& server, ConnectionId id)
      : sites_(sites), which_(which), server_(server), id_(id) {
    reach([&server, id] { server.opened(id); });
  }
  ~ModelChannel() override {
    reach([&server = server_, id = id_] { server.closed(id); });
  }
  ModelChannel(const ModelChannel&) = delete;
  ModelChannel& operator=(const ModelChannel&) = delete;

  void send(std::string_view bytes) override {
    reach(
        [&server = server_, id = id_, bytes = std::string(bytes)] { server.received(id, bytes); });
  }
  std::optional<std::string> next() override {
    std::optional<std::string> out;
    const auto there = [&] {
      in_ += sites_.take(id_);
      out = take_frame(in_);
      return out || sites_.hung_up(id_);
    };
    if (!sites_.run_until(there, patience)) throw std::runtime_error("the model does not answer");
    return out;
  }

 private:
  void reach(std::function<void()> then) { sites_.reach(which_, id_, std::move(then)); }

  VirtualSites& sites_;
  const std::size_t which_;
  Server& server_;
  const ConnectionId id_;
  std::string in_;
};

class RealChannel final : public Channel {
 public:
  explicit RealChannel(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int yes = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    // A test opens thousands; none shall linger.
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      ::close(fd_);
      throw std::runtime_error("cannot connect to ZooKeeper");
    }
  }
  ~RealChannel() override { ::close(fd_); }
  RealChannel(const RealChannel&) = delete;
  RealChannel& operator=(const RealChannel&) = delete;

  void send(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return;  // it has hung up, as `next()` will tell
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  std::optional<std::string> next() override {
    while (true) {
      if (auto out = take_frame(in_)) return out;
      pollfd polled{.fd = fd_, .events = POLLIN, .revents = 0};
      const auto at_most = std::chrono::milliseconds(patience).count();
      if (::poll(&polled, 1, static_cast<int>(at_most)) == 0) {
        throw std::runtime_error("ZooKeeper does not answer");
      }
      std::array<char, 65536> buffer{};
      const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return std::nullopt;
      in_.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  const int fd_;
  std::string in_;
};

}  // namespace

ModelPlace::ModelPlace(std::size_t servers, std::uint64_t seed, const Options& options)
    : sites_(servers, seed), ensemble_(sites_.all(), options) {}

std::unique_ptr<Channel> ModelPlace::connect(std::size_t server) {
  return std::make_unique<ModelChannel>(sites_, server, ensemble_.server(server), ++last_);
}

std::unique_ptr<Channel> RealPlace::connect(std::size_t server) {
  return std::make_unique<RealChannel>(ports_.at(server));
}

void RealPlace::wait(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

}  // namespace simulation::zookeeper
