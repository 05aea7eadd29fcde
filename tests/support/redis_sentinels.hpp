// SPDX-License-Identifier: MIT
// A master with its replicas, and the sentinels that watch it: private servers of a test's own.
// Their figures are small, so that a fail-over takes a second or two, and not half a minute.
#pragma once

#include "support/redis_server.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test {

struct RedisSentinelsOptions {
  std::size_t replicas = 2;
  std::size_t sentinels = 3;
  RedisServerOptions server{};    ///< each of the servers
  RedisServerOptions sentinel{};  ///< each of the sentinels
  /// The sentinels leave a master that was replaced alone for so long (their "publish period" x 4),
  /// while it goes on as if nothing had happened. By default that is 8 s.
  std::chrono::milliseconds old_master_goes_on{800};
};

/// Start with the object, end with it; by number, from 0; server 0 is the first master.
/// Not thread-safe.
class RedisSentinels {
 public:
  static constexpr const char* name = "mymaster";

  /// Returns when all sentinels know all there is.
  explicit RedisSentinels(RedisSentinelsOptions options = {});

  /// @return why there can be none here, as of a server: one before 7.0 cannot be hastened, and
  /// takes half a minute for what tests wait a few seconds for. Empty: there can be.
  [[nodiscard]] static std::string missing();

  [[nodiscard]] std::size_t size() const noexcept { return servers_.size(); }
  [[nodiscard]] RedisServer& operator[](std::size_t number) { return servers_.at(number); }
  [[nodiscard]] RedisServer& sentinel(std::size_t number) { return sentinels_.at(number); }
  /// redis+sentinel://127.0.0.1:PORT,.../mymaster, or rediss+sentinel where the sentinels have TLS.
  /// @param parameters without the "?"
  [[nodiscard]] std::string url(const std::string& parameters = {}) const;

  /// @return the master as that sentinel sees it; nothing = it does not answer
  [[nodiscard]] std::optional<std::size_t> master_by(std::size_t sentinel) const;
  /// @return the master as all sentinels see it that answer; nothing = they differ.
  [[nodiscard]] std::optional<std::size_t> master() const;
  [[nodiscard]] bool comes_to_another(std::size_t than) const;
  /// @return whether the sentinels agree, and all other servers follow the master and are known.
  [[nodiscard]] bool is_whole();
  /// A planned fail-over, by the first sentinel that takes the order. Returns when all name the
  /// new master.
  void fail_over();

 private:
  void order_fail_over();
  [[nodiscard]] bool is_tls() const noexcept;
  [[nodiscard]] std::uint16_t port_of(const RedisServer& server) const noexcept;
  static void hasten(RedisServer& sentinel, std::chrono::milliseconds publish);

  RedisSentinelsOptions options_;
  std::deque<RedisServer> servers_;
  std::deque<RedisServer> sentinels_;
};

}  // namespace mortise::test
