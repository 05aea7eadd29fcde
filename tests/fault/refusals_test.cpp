// SPDX-License-Identifier: MIT
// Goal: on every store, a server that refuses each client gets few connections, and callers learn
// why they are refused. Method: one fake server that counts its connections, and a caller that
// tries again and again.
#include <mortise/mortise.hpp>
#include <mortise/remote/backend.hpp>

#include "fault/like_lines.hpp"
#include "fault/party.hpp"
#include "support/fake_server.hpp"
#include "support/zookeeper_bytes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::fault {
namespace {

using test::FakeServer;
using test::ZooKeeperReader;
using test::ZooKeeperWriter;
using Ports = std::vector<std::uint16_t>;

// After ten seconds, each server gets at most two connections per second.
constexpr auto settles = 10s;
constexpr auto counts = 10s;
constexpr std::uint64_t most_connections = 20;

/// The protocol of the example, with a server that can demand a user.
class LinesWithUsers final : public LikeLines {
 public:
  [[nodiscard]] std::optional<remote::Message> read(std::string_view& bytes) const override {
    constexpr std::string_view denied = "denied\n";
    if (!bytes.starts_with(denied)) return LikeLines::read(bytes);
    bytes.remove_prefix(denied.size());
    return remote::Message{.why = {Errc::denied, "the server requires a user"}};
  }
};

FakeServer::Answers always(std::string bytes, bool hangs_up) {
  return [answer = FakeServer::Answer{std::move(bytes), hangs_up}](
             std::string_view /*received*/, std::size_t /*before*/) { return answer; };
}

std::string framed(const ZooKeeperWriter& body) {
  return ZooKeeperWriter().text(body.bytes()).bytes();
}

/// Accepts a session.
std::string zookeeper_greeting() {
  const std::string password(16, '\1');
  return framed(ZooKeeperWriter().int32(0).int32(10'000).int64(1).text(password).byte(0));
}

/// Refuses the first requests of a session, and hangs up, as a server with `enforce.auth.enabled`
/// does.
FakeServer::Answer demand_zookeeper_user(std::string_view received, std::size_t before) {
  constexpr std::int32_t session_requires_user = -124;
  if (before == 0) return {.bytes = zookeeper_greeting()};
  FakeServer::Answer answer{.hangs_up = true};
  for (ZooKeeperReader requests(received); !requests.rest().empty();) {
    const std::int32_t number = ZooKeeperReader(requests.text()).int32();
    answer.bytes += framed(ZooKeeperWriter().int32(number).int64(1).int32(session_requires_user));
  }
  return answer;
}

struct Refused {
  std::string store{};
  std::size_t servers = 1;
  std::function<Client(const Ports&)> open{};
  FakeServer::Answers demand_user{};
  std::string greeting{};  ///< if it is as simple as that
};

std::string addresses(const Ports& ports) {
  std::string text;
  for (const std::uint16_t port : ports) {
    text += (text.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
  }
  return text;
}

Refused by_url(std::string store, std::string before, std::string behind,
               FakeServer::Answers demand_user, std::size_t servers = 1,
               std::string greeting = {}) {
  return {.store = std::move(store),
          .servers = servers,
          .open = [before = std::move(before), behind = std::move(behind)](
                      const Ports& ports) { return Client(before + addresses(ports) + behind); },
          .demand_user = std::move(demand_user),
          .greeting = std::move(greeting)};
}

std::vector<Refused> all_stores() {
  const FakeServer::Answers no_auth = always("-NOAUTH Authentication required.\r\n", false);
  // A server asks for a password in clear text.
  const std::string password = "R" + ZooKeeperWriter().int32(8).int32(3).bytes();
  return {
      by_url("redis", "redis://", "", no_auth),
      by_url("redlock", "redlock://", "", no_auth, 3),
      by_url("postgres", "postgresql://shop@", "/shop?sslmode=disable", always(password, false)),
      by_url("zookeeper", "zookeeper://", "/locks", demand_zookeeper_user, 1, zookeeper_greeting()),
      {.store = "kit",
       .open =
           [](const Ports& ports) {
             return Client(remote::backend(addresses(ports), std::make_unique<LinesWithUsers>()));
           },
       .demand_user = always("denied\n", false),
       .greeting = "hello 1 server\n"}};
}

struct Case {
  Refused store{};
  std::string refusal{};
  FakeServer::Answers answers{};
  std::set<Errc> due{};
  friend std::ostream& operator<<(std::ostream& out, const Case& one) {
    return out << one.store.store << ' ' << one.refusal;
  }
};

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const Refused& store : all_stores()) {
    all.push_back({store, "demands_a_user", store.demand_user, {Errc::denied}});
    all.push_back({store, "hangs_up", always({}, true), {Errc::unavailable}});
    all.push_back({store,
                   "sends_nonsense",
                   always("HTTP/1.1 400 Bad Request\r\n\r\n", false),
                   {Errc::protocol}});
    if (store.greeting.empty()) continue;
    const auto hang_up_later = [greeting = store.greeting](std::string_view /*received*/,
                                                           std::size_t before) {
      return before == 0 ? FakeServer::Answer{.bytes = greeting}
                         : FakeServer::Answer{.hangs_up = true};
    };
    // A request that has left may have been executed.
    all.push_back(
        {store, "greets_and_hangs_up", hang_up_later, {Errc::unavailable, Errc::in_doubt}});
  }
  return all;
}

/// Tries to take a lock, again and again.
class Insistent {
 public:
  explicit Insistent(Client& client)
      : lock_(client.make_lock("a")), thread_([this] { insist(); }) {}
  Insistent(const Insistent&) = delete;
  Insistent& operator=(const Insistent&) = delete;
  ~Insistent() {
    ends_.set();
    thread_.join();
  }

  [[nodiscard]] bool was_served() const { return was_served_.load(); }
  void forget_errors() {
    const std::lock_guard lock(mutex_);
    errors_.clear();
  }
  [[nodiscard]] std::set<std::error_code> errors() const {
    const std::lock_guard lock(mutex_);
    return errors_;
  }

 private:
  void insist() {
    while (!ends_.wait(20ms)) {
      std::error_code error;
      if (lock_.try_lock_for(400ms, error)) was_served_.store(true);
      const std::lock_guard lock(mutex_);
      errors_.insert(error);
    }
  }

  Lock lock_;
  test::Signal ends_;
  std::atomic<bool> was_served_{false};
  mutable std::mutex mutex_;
  std::set<std::error_code> errors_;
  std::thread thread_;
};

class RefusalsLong : public ::testing::TestWithParam<Case> {};

// Promise: L7
TEST_P(RefusalsLong, CostAServerTwoConnectionsPerSecondAndCallersLearnWhy) {
  const Refused& store = GetParam().store;
  std::deque<FakeServer> servers;
  Ports ports;
  for (std::size_t i = 0; i < store.servers; ++i) {
    ports.push_back(servers.emplace_back(GetParam().answers).port());
  }
  std::optional<Client> mine;
  const Failure failure = failure_of([&] { mine.emplace(store.open(ports)); });
  if (failure.code == Errc::unsupported) GTEST_SKIP() << failure.text;
  ASSERT_TRUE(mine) << failure.text;
  Insistent caller(*mine);
  EXPECT_FALSE(happens_within([&] { return caller.was_served(); }, settles));
  std::vector<std::uint64_t> before;
  for (const FakeServer& each : servers) before.push_back(each.accepted());
  caller.forget_errors();
  EXPECT_FALSE(happens_within([&] { return caller.was_served(); }, counts));
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const std::uint64_t connections = servers[i].accepted() - before[i];
    RecordProperty("connections_" + std::to_string(i), std::to_string(connections));
    EXPECT_LE(connections, most_connections) << "server " << i;
    EXPECT_GT(connections, 0U) << "the client does not try again";
  }
  EXPECT_FALSE(caller.errors().empty());
  for (const std::error_code& each : caller.errors()) {
    EXPECT_TRUE(std::any_of(GetParam().due.begin(), GetParam().due.end(), [&](Errc due) {
      return each == due;
    })) << each.message();
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryStore, RefusalsLong, ::testing::ValuesIn(all_cases()),
                         [](const auto& each) {
                           return each.param.store.store + "_" + each.param.refusal;
                         });

}  // namespace
}  // namespace mortise::fault
