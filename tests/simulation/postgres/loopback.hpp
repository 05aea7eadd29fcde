// SPDX-License-Identifier: MIT
// A model of a server on real sockets of 127.0.0.1 and the real clock, so that real clients can be
// asked what they think of it. For tests; a thread of its own runs it.
#pragma once

#include "simulation/server.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <queue>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace simulation::postgres {

class Loopback final : public Site {
 public:
  explicit Loopback(std::uint64_t seed);
  ~Loopback() override;

  /// Begins to serve. @param server outlives this, or `stop()`
  void serve(Server& server);
  void stop();
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// Runs something while the server does not. From any other thread.
  template <class Callable>
  auto with(Callable call) {
    const std::lock_guard lock(mutex_);
    return call();
  }
  /// Cuts all connections, and calls what is to happen then, in place of `Server::restarted()`.
  void restart(const std::function<void()>& restarted);

  // Site
  [[nodiscard]] Nanos wall() const override;
  [[nodiscard]] Nanos uptime() const override;
  [[nodiscard]] std::uint64_t random() override { return random_(); }
  void send(ConnectionId connection, std::string_view bytes) override;
  void hang_up(ConnectionId connection) override;
  void after(Nanos delay, std::function<void()> then) override;
  void note(std::string_view words) override;

 private:
  struct Timer {
    Nanos at{};
    std::uint64_t order = 0;
    std::function<void()> then{};
    friend bool operator<(const Timer& one, const Timer& other) {
      return one.at != other.at ? one.at > other.at : one.order > other.order;
    }
  };
  void run();
  void turn();
  void accept_one();
  void read_one(int descriptor);
  void wake() const;

  std::mutex mutex_;
  std::mt19937_64 random_;
  Server* server_ = nullptr;
  int listener_ = -1;
  int waker_ = -1;
  std::uint16_t port_ = 0;
  bool stopped_ = false;
  ConnectionId last_ = 0;
  std::uint64_t timers_made_ = 0;
  std::map<ConnectionId, int> sockets_;
  std::priority_queue<Timer> timers_;
  std::thread thread_;
};

}  // namespace simulation::postgres
