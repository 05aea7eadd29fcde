// SPDX-License-Identifier: MIT
// The ground of the fault tests on Sentinel: servers and sentinels of the test's own, clients of
// them, and what a test has to know of where its clients are.
#pragma once

#include "fault/party.hpp"
#include "redis/store/lock_key.hpp"
#include "redis/store/scripts.hpp"
#include "support/redis_sentinels.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace mortise::fault {

using test::RedisAnswer;
using test::RedisSentinels;
using test::RedisSentinelsOptions;
using test::RedisServer;
using test::RedisServerOptions;
using test::RedisTalk;
using test::RedisTalkError;

class RedisSentinelTest : public ::testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS(RedisSentinels::missing()); }

  [[nodiscard]] RedisSentinels& servers(const RedisSentinelsOptions& options = {}) {
    if (!servers_) servers_.emplace(options);
    return *servers_;
  }
  [[nodiscard]] Client client(ClientOptions options = {}, const std::string& parameters = {}) {
    options.give_up = 1min;  // a loaded machine takes its time for a fail-over
    return Client(servers().url(parameters), std::move(options));
  }
  /// @return how many connections of ours that server has.
  [[nodiscard]] std::size_t connections_at(std::size_t server) {
    std::size_t count = 0;
    try {
      for (const auto& each : servers()[server].talk().clients()) {
        if (each.at("name") == "mortise") ++count;
      }
    } catch (const RedisTalkError&) {
      return 0;  // it is down
    }
    return count;
  }
  /// @return the same of the master that all sentinels name now. Sentinels that were slow may
  /// replace a master a second time, soon after the first.
  [[nodiscard]] std::size_t connections_at_master() {
    const std::optional<std::size_t> now = servers().master();
    return now ? connections_at(*now) : 0;
  }
  [[nodiscard]] std::size_t waiting(std::size_t server, const std::string& name) {
    const std::string queue = redis::lock_key("mortise:", name) + ":queue";
    return static_cast<std::size_t>(servers()[server].talk().command({"ZCARD", queue}).integer);
  }
  [[nodiscard]] bool is_held(std::size_t server, const std::string& name) {
    const RedisAnswer answer =
        servers()[server].talk().expect_ok({"EVAL", std::string(redis::scripts::inspect.text), "1",
                                            redis::lock_key("mortise:", name), ""});
    return answer.items.at(0).text == "held";
  }

 private:
  std::optional<RedisSentinels> servers_;
};

}  // namespace mortise::fault
