// SPDX-License-Identifier: MIT
#include "redlock_cycles.hpp"

#include <mortise/mortise.hpp>

#include "figure.hpp"
#include "raw_redlock.hpp"
#include "redis_server.hpp"

#include <csignal>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

namespace mortise::bench {
namespace {

constexpr const char* name = "bench/redlock";
constexpr int many = 4000;
constexpr std::size_t all = 5;

class Servers {
 public:
  explicit Servers(Mode mode) {
    for (std::size_t i = 0; i < all; ++i) servers_.emplace_back(mode);
  }
  [[nodiscard]] std::vector<std::uint16_t> ports() const {
    std::vector<std::uint16_t> ports;
    for (const RedisServer& server : servers_) ports.push_back(server.port());
    return ports;
  }
  [[nodiscard]] std::string url() const {
    std::string url = "redlock://";
    for (const std::uint16_t port : ports()) url += "127.0.0.1:" + std::to_string(port) + ",";
    url.pop_back();
    return url;
  }
  /// Its own destructor kills it, stopped or not.
  void stop_one() const { ::kill(servers_[all / 2].pid(), SIGSTOP); }

 private:
  std::deque<RedisServer> servers_;
};

/// @return the p50 in microseconds, each cycle timed alone: X has outliers that a mean would keep.
template <class Cycle>
double p50_of(Cycle&& cycle) {
  return p50(many, [&] { return timed(1, cycle); }) / 1000;
}

double cycles_of(const Servers& servers, bool without_one) {
  Client client(servers.url());
  Lock lock = client.make_lock(name);
  // Its connections stand, all of them.
  for (int i = 0; i < 100; ++i) {
    lock.lock();
    lock.unlock();
  }
  if (without_one) servers.stop_one();
  return p50_of([&] {
    lock.lock();
    lock.unlock();
  });
}

}  // namespace

double redlock_cycle(Mode mode) { return cycles_of(Servers(mode), false); }

double redlock_cycle_without_one(Mode mode) { return cycles_of(Servers(mode), true); }

double raw_redlock_cycle(Mode mode) {
  const Servers servers(mode);
  RawRedlock raw(servers.ports(), name);
  return p50_of([&] { raw.cycle(); });
}

}  // namespace mortise::bench
