// SPDX-License-Identifier: MIT
// The ground of the fault tests on Redis: a server of the test's own, clients of it, and looks into
// what they left there. It breaks nothing by itself.
#pragma once

#include <mortise/mortise.hpp>
#include <mortise/redis.hpp>

#include "redis/lock_key.hpp"
#include "redis/scripts.hpp"
#include "support/contract_observer.hpp"
#include "support/contract_worker.hpp"
#include "support/eventually.hpp"
#include "support/proxy.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::fault {

using namespace std::chrono_literals;
using contract::Record;
using contract::Worker;
using test::duration_of;
using test::eventually;
using test::patience;
using test::Proxy;
using test::RedisAnswer;
using test::RedisServer;
using test::RedisServerOptions;
using test::RedisTalk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// What timed calls may add to their time, and what a loaded machine may add to that.
inline constexpr std::chrono::milliseconds allowance{50};
inline constexpr std::chrono::milliseconds slack{100};

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
      if (one.text.size() > 1) fields.push_back(one.text);
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

/// A client that is let go at the end whatever happens, and what its one thread does with the name.
class Party {
 public:
  Party(Client client, const std::string& name, const LockOptions& options = {})
      : client_(std::move(client)), lock_(client_.lock(name, options)) {}
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;
  /// Ends its wait, where a test that has failed leaves it waiting.
  ~Party() { client_.close(); }

  [[nodiscard]] Client& client() { return client_; }
  [[nodiscard]] Lock& lock() { return lock_; }
  /// Takes the name in a thread of its own, without end. @return its token
  [[nodiscard]] std::future<Token> start() {
    return worker_.start([this] {
      lock_.lock();
      return lock_.token();
    });
  }
  /// Does it by the thread that `start()` took it with.
  template <class Task>
  auto run(Task task) {
    return worker_.run(std::move(task));
  }
  [[nodiscard]] Released release() {
    return run([this] { return lock_.release(); });
  }
  [[nodiscard]] Worker& worker() { return worker_; }

 private:
  Client client_;
  Lock lock_;
  Worker worker_;
};

/// @return whether the future has come within the time.
template <class Result>
[[nodiscard]] bool comes(const std::future<Result>& future,
                         std::chrono::nanoseconds within = patience) {
  return future.wait_for(within) == std::future_status::ready;
}

/// @return what the call throws; clear where it throws nothing of the library's.
template <class Call>
[[nodiscard]] Failure failure_of(Call call) {
  try {
    call();
  } catch (const LockError& error) {
    return {error.errc(), error.what()};
  }
  return {};
}

}  // namespace mortise::fault
