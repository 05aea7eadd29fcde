// SPDX-License-Identifier: MIT
// The ground of the fault tests on Redis: a server of the test's own, clients of it, and looks into
// what they left there. It breaks nothing by itself.
#pragma once

#include <mortise/redis.hpp>

#include "fault/party.hpp"
#include "redis/store/lock_key.hpp"
#include "redis/store/scripts.hpp"
#include "support/proxy.hpp"
#include "support/redis_fields.hpp"
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

/// A hold as requests name it.
struct Held {
  std::string attempt{};
  std::string number{};
};

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
    return server().talk().command({"HGET", key(name), test::stored_field(which)}).text;
  }
  /// @return the hold that stands, or the last one; empty = there is none.
  [[nodiscard]] Held hold_of(const std::string& name) {
    return {field(name, "owner"), field(name, "grant")};
  }
  [[nodiscard]] std::size_t waiting(const std::string& name) {
    const RedisAnswer count = server().talk().command({"ZCARD", key(name) + ":queue"});
    return static_cast<std::size_t>(count.integer);
  }
  [[nodiscard]] bool come_to_wait(const std::string& name, std::size_t count = 1) {
    return eventually([&] { return waiting(name) == count; });
  }
  /// @return whether somebody owns the name now, as the library's own script sees it.
  [[nodiscard]] bool is_held(const std::string& name) {
    const RedisAnswer answer = server().talk().expect_ok(
        {"EVAL", std::string(redis::scripts::inspect.text), "1", key(name), ""});
    return answer.items.at(0).text == "held";
  }
  /// @return the attempt that was queued first.
  [[nodiscard]] std::string first_attempt(const std::string& name) {
    const RedisAnswer first = server().talk().command({"ZRANGE", key(name) + ":queue", "0", "0"});
    return first.items.empty() ? std::string() : first.items.front().text.substr(1);
  }
  /// @return when each of those who wait was heard of last, and what is known of them.
  [[nodiscard]] std::string heard_of(const std::string& name) {
    return server().talk().command({"HGETALL", key(name) + ":waiters"}).words();
  }
  /// Waits until somebody who stands in the queue is heard of again.
  [[nodiscard]] bool asks_again(const std::string& name) {
    const std::string before = heard_of(name);
    return eventually([&] { return heard_of(name) != before; });
  }
  /// @return what the queue of a name consists of: places, and what is known of waiters.
  [[nodiscard]] std::vector<std::string> queued(const std::string& name) {
    std::vector<std::string> all;
    for (const RedisTalk::Command& words :
         {RedisTalk::Command{"ZRANGE", key(name) + ":queue", "0", "-1"},
          RedisTalk::Command{"HKEYS", key(name) + ":waiters"}}) {
      for (const RedisAnswer& one : server().talk().command(words).items) all.push_back(one.text);
    }
    return all;
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
