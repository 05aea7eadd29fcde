// SPDX-License-Identifier: MIT
// A Redis Cluster of a test's own, and what a test does to it: kill a master, have a replica take
// over, move slots with what is in them.
#pragma once

#include "support/redis_server.hpp"
#include "support/redis_talk.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace mortise::test {

struct RedisClusterOptions {
  std::size_t masters = 3;
  std::size_t replicas = 3;  ///< of the masters in turn
  std::chrono::milliseconds node_timeout{
      1000};  ///< a master that is silent for so long is replaced
  RedisServerOptions each{};
};

/// Masters first, then their replicas, by number, from 0. Not thread-safe.
class RedisCluster {
 public:
  using Options = RedisClusterOptions;

  /// Returns when it takes requests, and its replicas have what their masters have.
  /// @throws std::runtime_error where that takes longer than 20 s
  explicit RedisCluster(Options options = {});

  /// @return why there can be none on this machine, as of a server: one before 7.0 has no sharded
  /// channels. Empty: there can be.
  [[nodiscard]] static std::string missing();

  [[nodiscard]] std::size_t size() const noexcept { return servers_.size(); }
  [[nodiscard]] RedisServer& operator[](std::size_t number) { return servers_.at(number); }
  [[nodiscard]] RedisTalk talk(std::size_t number) const { return servers_.at(number).talk(); }
  /// redis+cluster://127.0.0.1:PORT,127.0.0.1:PORT,... of all of them.
  /// @param parameters of the URL, without the "?"
  [[nodiscard]] std::string url(const std::string& parameters = {}) const;
  [[nodiscard]] std::string tls_url(const std::string& parameters = {}) const;

  /// @return the slot of a lock's name, as a server counts it.
  [[nodiscard]] std::uint16_t slot_of(const std::string& name) const;
  /// @return the number of the master that has a slot, as the first server that answers says.
  [[nodiscard]] std::size_t master_of(std::uint16_t slot) const;
  [[nodiscard]] std::size_t master_of(const std::string& name) const {
    return master_of(slot_of(name));
  }
  /// @return the number of a replica of that master.
  [[nodiscard]] std::size_t replica_of(std::size_t master) const;

  /// The three steps by which an administrator's program moves a slot: from the first one on, what
  /// is not in it any more is asked for at the other server; then all that is in it; then it is
  /// the other one's.
  void begin_move(std::uint16_t slot, std::size_t to);
  void move_keys(std::uint16_t slot, std::size_t to);
  void end_move(std::uint16_t slot, std::size_t to);
  /// All three.
  void move(std::uint16_t slot, std::size_t to);
  /// A replica takes over from its master, which lives and agrees; returns when it has.
  void fail_over(std::size_t replica);
  /// Returns when a killed master's slots have another one.
  void wait_for_fail_over(std::size_t killed);
  /// Returns when all that run say that it takes requests, and agree who has what.
  void wait_until_settled();
  /// Forgets all keys.
  void clear();

  /// @return the sum over all that run of a figure of CLUSTER INFO.
  [[nodiscard]] std::uint64_t sum(const std::string& figure) const;

 private:
  void join();
  [[nodiscard]] RedisTalk any() const;
  [[nodiscard]] bool runs(std::size_t number) const;

  Options options_;
  std::deque<RedisServer> servers_;
  std::vector<std::string> ids_;
};

}  // namespace mortise::test

#define MORTISE_NEEDS_REDIS_CLUSTER() MORTISE_NEEDS(::mortise::test::RedisCluster::missing())
