// SPDX-License-Identifier: MIT
// Goal: a crowd in one client costs no connection and the server little: tens of thousands of calls
// at once, and as many waits at rest. Method: a server that counts, and is stopped.
#include <mortise/backend.hpp>
#include <mortise/guards.hpp>
#include <mortise/redis.hpp>

#include "fault/redis_fixture.hpp"
#include "model/build.hpp"
#include "support/hand_host.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace mortise::fault {
namespace {

class RedisCrowdLong : public RedisTest {
 protected:
  [[nodiscard]] static std::string name_of(std::size_t index) {
    return "n" + std::to_string(index);
  }
  /// @return how many requests of waiters the server has executed.
  [[nodiscard]] std::uint64_t requests() {
    constexpr std::string_view calls = "calls=";
    std::uint64_t all = 0;
    for (const auto& [command, figures] : server().talk().info("commandstats")) {
      if (command != "cmdstat_evalsha" && command != "cmdstat_eval") continue;
      all += std::stoull(figures.substr(figures.find(calls) + calls.size()));
    }
    return all;
  }
  [[nodiscard]] std::int64_t keys() { return server().talk().command({"DBSIZE"}).integer; }
};

/// @return whether all operations are complete, soon.
template <class Operation>
bool all_complete(test::HandHost& host, const std::vector<std::shared_ptr<Operation>>& all) {
  std::size_t first_open = 0;
  const auto are_complete = [&] {
    while (first_open < all.size() && all[first_open]->done()) ++first_open;
    return first_open == all.size();
  };
  return host.run_until(are_complete, test::HandHost::all, 3min);
}

// Promise: L7
TEST_F(RedisCrowdLong, FortyThousandCallsAtOnceCostNoConnection) {
  constexpr std::size_t calls = model::under_sanitizer ? 4'000 : 40'000;
  auto connections = [&, talk = server().talk()]() mutable {
    return std::stoull(talk.info("stats").at("total_connections_received"));
  };
  test::HandHost host;
  const std::unique_ptr<Backend> backend = redis::backend(server().url());
  backend->start(host);
  std::uint64_t before = 0;
  std::uint64_t attempts = 0;
  for (int round = 0; round < 4; ++round) {
    std::vector<std::shared_ptr<Acquisition>> takes;
    for (std::size_t i = 0; i < calls; ++i) {
      takes.push_back(std::make_shared<Acquisition>(
          Acquisition::Request{.attempt = {1, 2, ++attempts}, .name = name_of(i), .lease = 10min}));
      backend->acquire(takes.back());
    }
    ASSERT_TRUE(all_complete(host, takes));
    std::vector<std::shared_ptr<Release>> releases;
    for (const auto& take : takes) {
      ASSERT_NE(take->grant().number, 0U) << take->failure().text;
      releases.push_back(std::make_shared<Release>(
          HoldId{take->request().name, take->request().attempt, take->grant().number}));
      backend->release(releases.back());
    }
    ASSERT_TRUE(all_complete(host, releases));
    for (const auto& release : releases) ASSERT_EQ(release->outcome(), Released::released);
    if (round == 0) before = connections();  // the inbox stands by now
  }
  EXPECT_EQ(connections(), before) << "the client connected again";
  backend->stop();
}

// Promise: L7
TEST_F(RedisCrowdLong, TenThousandWaitsCostFewRequestsEvenIfTheServerStandsStill) {
  constexpr std::size_t waits = model::under_sanitizer ? 1'000 : 10'000;
  constexpr std::uint64_t most_per_second = 100;
  Client theirs = client();
  std::vector<Guards> held;
  for (std::size_t i = 0; i < waits; i += 500) {
    std::vector<Lock> some;
    while (some.size() < 500) {
      some.push_back(theirs.make_lock(name_of(i + some.size()), {.lease = 10min}));
    }
    held.push_back(lock_all(some, {.wait = 1min}));
  }
  const std::int64_t keys_of_holds = keys();
  // Through no proxy: ten thousand other threads of the process would keep it from a processor.
  Client mine = client();
  std::vector<Lock> wanted;
  for (std::size_t i = 0; i < waits; ++i) wanted.push_back(mine.make_lock(name_of(i)));
  std::stop_source stop;
  std::atomic<int> failed{0};
  std::vector<std::jthread> threads;
  for (Lock& lock : wanted) {
    threads.emplace_back([&] {
      std::error_code ec;
      if (!lock.acquire({.stop = stop.get_token()}, ec) && ec == Errc::cancelled) return;
      if (++failed == 1) std::cout << "a wait has ended: " << ec.message() << '\n';
    });
  }
  // A queue of each name, and the places in it.
  EXPECT_TRUE(eventually([&] { return keys() >= keys_of_holds + 2 * std::int64_t{waits}; }, 3min));
  const auto any_failed = [&] { return failed.load() > 0; };
  EXPECT_FALSE(happens_within(any_failed, 1s));
  const std::uint64_t before = requests();
  EXPECT_FALSE(happens_within(any_failed, 28s));
  const std::uint64_t at_rest = requests() - before;
  EXPECT_LE(at_rest, 28 * most_per_second);
  server().stop();
  EXPECT_FALSE(happens_within(any_failed, 3s));
  server().resume();
  EXPECT_FALSE(happens_within(any_failed, 29s));
  const std::uint64_t in_a_minute = requests() - before;
  EXPECT_LE(in_a_minute, 60 * most_per_second);
  RecordProperty("requests_at_rest_in_28_s", std::to_string(at_rest));
  RecordProperty("requests_in_60_s", std::to_string(in_a_minute));
  std::cout << at_rest << " requests in 28 s at rest, " << in_a_minute << " in 60 s with a stop\n";
  stop.request_stop();
  threads.clear();
  EXPECT_EQ(failed.load(), 0);
}

}  // namespace
}  // namespace mortise::fault
