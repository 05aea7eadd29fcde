// SPDX-License-Identifier: MIT
// The ground of the fault tests on Redis: a server of the test's own, clients of it, and looks into
// what they left there. It breaks nothing by itself.
#pragma once

#include <mortise/redis.hpp>

#include "fault/party.hpp"
#include "redis/lock_key.hpp"
#include "redis/scripts.hpp"
#include "support/proxy.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::fault {

using test::Proxy;
using test::RedisAnswer;
using test::RedisServer;
using test::RedisServerOptions;
using test::RedisTalk;

inline constexpr const char* inboxes = "mortise:inbox:*";

class RedisTest : public ::testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_REDIS_SERVER(); }

  [[nodiscard]] RedisServer& server(const RedisServerOptions& options = {}) {
    if (!server_) server_.emplace(options);
    return *server_;
  }
  [[nodiscard]] Client client(ClientOptions options = {}) {
    return Client(server().url(), std::move(options));
  }
  [[nodiscard]] static std::string key(const std::string& name) {
    return redis::lock_key("mortise:", name);
  }
  /// @return a field of a lock as the server keeps it; empty = there is none.
  [[nodiscard]] std::string field(const std::string& name, const std::string& which) {
    return server().talk().command({"HGET", key(name), which}).text;
  }
  /// @return the hold that stands, or the last one, as requests name it; empty = there is none.
  [[nodiscard]] std::string hold_of(const std::string& name) {
    const std::string owner = field(name, "o");
    const std::size_t from = owner.starts_with('0') ? 1 : 0;  // remembered for less than an hour
    const std::size_t attempt = owner.find(' ') + 1;
    return owner.substr(from, owner.find(' ', attempt) + 1 - from);
  }
  [[nodiscard]] std::size_t waiting(const std::string& name) {
    const std::string count = field(name, "w");
    return count.empty() ? 0 : std::stoul(count);
  }
  [[nodiscard]] bool come_to_wait(const std::string& name, std::size_t count = 1) {
    return eventually([&] { return waiting(name) == count; });
  }
  /// @return whether somebody owns the name now, as the library's own script sees it.
  [[nodiscard]] bool is_held(const std::string& name) {
    const RedisAnswer answer = server().talk().expect_ok(
        {"EVAL", std::string(redis::scripts::inspect.text), "1", key(name), "mortise:inbox:", "f"});
    return answer.text.starts_with("O");
  }
  /// @return the attempt that was queued first.
  [[nodiscard]] std::string first_attempt(const std::string& name) {
    const std::string entry = field(name, "#0");
    return entry.substr(0, entry.find(' '));
  }
  /// Waits until somebody who stands in the queue is heard of again.
  [[nodiscard]] bool asks_again(const std::string& name) {
    const auto all = [&] { return server().talk().command({"HGETALL", key(name)}).words(); };
    const std::string before = all();
    return eventually([&] { return all() != before; });
  }
  /// @return what the queue of a name consists of beside its counters: places and waiters.
  [[nodiscard]] std::vector<std::string> queued(const std::string& name) {
    std::vector<std::string> fields;
    for (const RedisAnswer& one : server().talk().command({"HKEYS", key(name)}).items) {
      // What begins so tells of late copies, which stay known for a minute.
      if (one.text.size() > 1 && !one.text.starts_with('!')) fields.push_back(one.text);
    }
    return fields;
  }
  /// Nobody holds the name, nobody waits, and nothing is left of anybody.
  void expect_free(const std::string& name) {
    EXPECT_FALSE(is_held(name)) << name;
    EXPECT_EQ(waiting(name), 0U) << name;
    EXPECT_THAT(queued(name), IsEmpty()) << name;
  }
  /// @return a connection that hears every grant that is published.
  [[nodiscard]] RedisTalk monitor(const std::string& channels = inboxes) {
    RedisTalk talk = server().talk();
    talk.expect_ok({"PSUBSCRIBE", channels});
    return talk;
  }

 private:
  std::optional<RedisServer> server_;
};

}  // namespace mortise::fault
