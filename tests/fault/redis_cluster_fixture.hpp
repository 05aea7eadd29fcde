// SPDX-License-Identifier: MIT
// The ground of the fault tests on a Redis Cluster: one of the test's own, and clients of it.
#pragma once

#include <mortise/redis.hpp>

#include "fault/party.hpp"
#include "redis/store/lock_key.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_fields.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::fault {

using test::RedisAnswer;
using test::RedisCluster;
using test::RedisClusterOptions;
using test::RedisTalk;

class RedisClusterTest : public ::testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_REDIS_CLUSTER(); }

  RedisCluster& cluster(const RedisClusterOptions& options = {}) {
    if (!cluster_) cluster_.emplace(options);
    return *cluster_;
  }
  [[nodiscard]] Client client(ClientOptions options = {}) {
    return Client(cluster().url(), std::move(options));
  }
  [[nodiscard]] static std::string key(const std::string& name) {
    return redis::lock_key("mortise:", name);
  }
  [[nodiscard]] std::size_t waiting(const std::string& name) {
    return static_cast<std::size_t>(
        cluster().talk(cluster().master_of(name)).command({"ZCARD", key(name) + ":queue"}).integer);
  }
  /// @return a name that lies with that master; another one for each number.
  [[nodiscard]] std::string name_of(std::size_t master, std::size_t number = 0) {
    for (std::size_t i = 0;; ++i) {
      std::string name = "n" + std::to_string(i);
      if (cluster().master_of(name) == master && number-- == 0) return name;
    }
  }
  [[nodiscard]] bool come_to_wait(const std::string& name, std::size_t count = 1) {
    return eventually([&] { return waiting(name) == count; });
  }
  /// @return how many connections of ours a server has, of those that listen or of the others.
  [[nodiscard]] std::size_t connections(std::size_t server, bool listening) {
    std::size_t count = 0;
    for (auto& each : cluster().talk(server).clients()) {
      if (each["name"] != "mortise") continue;
      const bool listens = each["sub"] != "0" || each["ssub"] != "0";
      count += listens == listening ? 1 : 0;
    }
    return count;
  }
  /// @return whether the one that waits listens at the server that has the name.
  [[nodiscard]] bool comes_to_listen(const std::string& name) {
    return eventually([&] {
      RedisTalk talk = cluster().talk(cluster().master_of(name));
      return !talk.expect_ok({"PUBSUB", "SHARDCHANNELS", "*{" + name + "}"}).items.empty();
    });
  }

 private:
  std::optional<RedisCluster> cluster_;
};

}  // namespace mortise::fault
