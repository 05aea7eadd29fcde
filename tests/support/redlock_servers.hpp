// SPDX-License-Identifier: MIT
// The independent Redis masters of a quorum, each a private server of the test's own, and what a
// test does to some of them: kill, stop, cut off, restart with and without data.
#pragma once

#include "support/proxy.hpp"
#include "support/redis_server.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {

/// Start with the object, end with it; by number, from 0. Not thread-safe.
class RedlockServers {
 public:
  explicit RedlockServers(std::size_t count = 5, const RedisServerOptions& each = {});

  [[nodiscard]] std::size_t size() const noexcept { return servers_.size(); }
  [[nodiscard]] std::size_t majority() const noexcept { return size() / 2 + 1; }
  [[nodiscard]] RedisServer& operator[](std::size_t number) { return servers_.at(number); }
  [[nodiscard]] const RedisServer& operator[](std::size_t number) const {
    return servers_.at(number);
  }
  /// The bad network in front of one of them; made when it is first asked for.
  [[nodiscard]] Proxy& proxy(std::size_t number);

  /// Where its clients find each: its proxy, if there is one.
  [[nodiscard]] std::vector<std::uint16_t> ports() const;
  /// redlock://127.0.0.1:PORT,127.0.0.1:PORT,... through the proxies that there are.
  /// @param parameters of the URL, without the "?"
  [[nodiscard]] std::string url(const std::string& parameters = {}) const;
  /// The same past the proxies.
  [[nodiscard]] std::string direct_url(const std::string& parameters = {}) const;

  /// Kills it and starts it again with nothing, whatever its persistence.
  void forget(std::size_t number);

 private:
  std::deque<RedisServer> servers_;
  std::vector<std::unique_ptr<Proxy>> proxies_;
};

/// @return redlock://127.0.0.1:PORT,... of these ports.
[[nodiscard]] std::string redlock_url(const std::vector<std::uint16_t>& ports,
                                      const std::string& parameters = {});

/// Ends a killed server's memory of what it had written, so that it starts with nothing.
void remove_data(const RedisServer& server);

}  // namespace mortise::test
