// SPDX-License-Identifier: MIT
// The ground of the fault tests on a quorum: servers of the test's own, clients of them, and looks
// into what they left on each. It breaks nothing by itself.
#pragma once

#include "fault/redis_fixture.hpp"
#include "redlock/scripts.hpp"
#include "support/redlock_servers.hpp"

#include <initializer_list>
#include <thread>

namespace mortise::fault {

using test::best_of;
using test::RedlockServers;

class RedlockTest : public ::testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_REDIS_SERVER(); }

  /// The first call says how many there are.
  [[nodiscard]] RedlockServers& servers(std::size_t count = 5,
                                        const RedisServerOptions& each = {}) {
    if (!servers_) servers_.emplace(count, each);
    return *servers_;
  }
  /// Each server behind a proxy, from now on.
  void proxied() {
    for (std::size_t i = 0; i < servers().size(); ++i) static_cast<void>(servers().proxy(i));
  }
  [[nodiscard]] Client client(ClientOptions options = {}) {
    return Client(servers().url(), std::move(options));
  }
  /// A client whose connections stand.
  [[nodiscard]] Client ready_client(ClientOptions options = {}) {
    Client mine = client(std::move(options));
    Lock first = mine.make_lock("first");
    // A server to which there was no connection yet is not asked.
    EXPECT_TRUE(eventually([&] {
      const Guard guard(first);
      return eventually([&] { return holds("first") == servers().size(); }, 100ms);
    }));
    EXPECT_TRUE(eventually([&] { return holds("first") == 0; }));
    return mine;
  }
  [[nodiscard]] static std::string key(const std::string& name) {
    return redis::lock_key("mortise:", name);
  }
  [[nodiscard]] std::string field(std::size_t server, const std::string& name,
                                  const std::string& which) {
    return servers()[server].talk().command({"HGET", key(name), which}).text;
  }
  /// @return whether somebody owns the name there now, as the library's own script sees it.
  [[nodiscard]] bool is_held(std::size_t server, const std::string& name) {
    const RedisAnswer answer = servers()[server].talk().expect_ok(
        {"EVAL", std::string(redlock::scripts::inspect.text), "1", key(name), ""});
    return answer.items.at(0).text == "held";
  }
  /// @return on how many of the servers that answer it is held.
  [[nodiscard]] std::size_t holds(const std::string& name) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < servers().size(); ++i) {
      if (std::find(silent_.begin(), silent_.end(), i) == silent_.end() && is_held(i, name)) {
        ++count;
      }
    }
    return count;
  }
  /// Nobody holds the name on any server that answers. Far sooner than by its lease.
  void expect_free(const std::string& name, std::chrono::nanoseconds within = 2s) {
    EXPECT_TRUE(eventually([&] { return holds(name) == 0; }, within))
        << name << " is held on " << holds(name) << words(name);
  }

  /// @return what the servers that answer keep of it.
  [[nodiscard]] std::string words(const std::string& name) {
    std::string all;
    for (std::size_t i = 0; i < servers().size(); ++i) {
      if (std::find(silent_.begin(), silent_.end(), i) != silent_.end()) continue;
      all += "\n  " + std::to_string(i) + ": " +
             servers()[i].talk().command({"HGETALL", key(name)}).words();
    }
    return all;
  }

  // What is done to servers is noted, so that they are not looked at.
  void kill(std::size_t server) {
    servers()[server].kill();
    silent_.push_back(server);
  }
  void stop(std::size_t server) {
    servers()[server].stop();
    silent_.push_back(server);
  }
  void start(std::size_t server) {
    servers()[server].start();
    std::erase(silent_, server);
  }
  void resume(std::size_t server) {
    servers()[server].resume();
    std::erase(silent_, server);
  }

 private:
  std::optional<RedlockServers> servers_;
  std::vector<std::size_t> silent_;
};

}  // namespace mortise::fault
