// SPDX-License-Identifier: MIT
#include "support/redlock_store.hpp"

#include <mortise/redlock.hpp>

#include "base/unique_fd.hpp"
#include "redis/store/lock_key.hpp"
#include "support/contract_network.hpp"
#include "support/free_port.hpp"
#include "support/redlock_servers.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

namespace mortise::contract {
namespace {

using Missing = RedlockWay::Missing;

/// A port that completes connections and says nothing ever, as a network that swallows everything.
/// It needs no descriptor for any of them, and closes what its clients close.
class SilentPort {
 public:
  SilentPort()
      : port_(test::free_port()),
        fd_(base::UniqueFd::open([] { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); })) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(fd_.get(), most_connections) != 0) {
      throw std::system_error(errno, std::generic_category(), "a silent port");
    }
  }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  static constexpr int most_connections = 4096;

  const std::uint16_t port_;
  const base::UniqueFd fd_;
};

[[nodiscard]] bool proxied(const RedlockWay& way) {
  return way.network || way.how == Missing::cut_off;
}

class RedlockStore final : public Store {
 public:
  RedlockStore(const RedlockWay& way, std::string parameters)
      : way_(way), parameters_(std::move(parameters)), servers_(way.servers) {
    for (std::size_t i = 0; proxied(way_) && i < way_.servers; ++i) {
      static_cast<void>(servers_.proxy(i));
    }
    for (std::size_t i = 0; i < way_.missing; ++i) lose(i);
  }

  [[nodiscard]] std::unique_ptr<Backend> backend() override {
    std::vector<std::uint16_t> ports = servers_.ports();
    for (const auto& [number, silent] : silent_) ports[number] = silent.port();
    return redlock::backend(test::redlock_url(ports, parameters_));
  }
  void set_reachable(bool reachable) override {
    for (std::size_t i = way_.missing; i < way_.servers; ++i) {
      let_through(servers_.proxy(i), reachable);
    }
  }
  void restart() override {
    for (std::size_t i = way_.missing; i < way_.servers; ++i) servers_[i].shutdown();
    for (std::size_t i = way_.missing; i < way_.servers; ++i) servers_[i].start();
  }
  void take_away(const std::string& name) override {
    for (std::size_t i = way_.missing; i < way_.servers; ++i) {
      servers_[i].talk().expect_ok({"DEL", redis::lock_key("mortise:", name)});
    }
  }
  void misbehave(const Misbehaviour& how) override {
    for (std::size_t i = way_.missing; i < way_.servers; ++i) {
      contract::misbehave(servers_.proxy(i), how);
    }
  }

 private:
  void lose(std::size_t number) {
    switch (way_.how) {
      case Missing::none: break;
      case Missing::killed: servers_[number].kill(); break;
      case Missing::stopped: servers_[number].stop(); break;
      case Missing::cut_off:
        if (number % 2 == 0) {
          silent_.try_emplace(number);
        } else {
          servers_.proxy(number).reset_new(true);
        }
        break;
    }
  }

  const RedlockWay way_;
  const std::string parameters_;
  test::RedlockServers servers_;
  std::map<std::size_t, SilentPort> silent_;  // by the server in whose place they stand
};

std::string word_for(const RedlockWay& way) {
  std::string word = "redlock_" + std::to_string(way.servers);
  if (way.network) word += "_network";
  switch (way.how) {
    case Missing::none: return word;
    case Missing::killed: word += "_killed_"; break;
    case Missing::stopped: word += "_stopped_"; break;
    case Missing::cut_off: word += "_cut_off_"; break;
  }
  return word + std::to_string(way.missing);
}

}  // namespace

BackendUnderTest redlock_backend(const RedlockWay& way, const std::string& parameters) {
  std::set<Hook> hooks = hooks_of_server(proxied(way));
  // Each server has waiters of its own.
  hooks.erase(Hook::counts);
  return {.name = word_for(way),
          .open =
              [way, parameters](const std::shared_ptr<Clock>&) {
                return std::make_unique<RedlockStore>(way, parameters);
              },
          .hooks = std::move(hooks),
          .qualities = {Quality::leases, Quality::min_hold, Quality::shared, Quality::holders,
                        Quality::forces},
          .missing = test::RedisServer::missing,
          .answers_at_once = false};
}

}  // namespace mortise::contract
