// SPDX-License-Identifier: MIT
// Goal: a server that greets, and hangs up as soon as anything is asked, is not connected to
// without a pause. Method: a proxy that resets each connection at its first request, while a caller
// waits.
#include "fault/postgres_fixture.hpp"
#include "fault/redis_fixture.hpp"

namespace mortise::fault {
namespace {

/// Pauses double from 10 ms on, up to one of a second.
constexpr std::uint64_t enough = 30;
constexpr auto for_so_long = 2s;

void expect_pauses(Proxy& proxy, const std::string& url) {
  Party waiter(Client(url), "a");
  waiter.client().check(patience);
  proxy.lose_request(1);
  auto served = waiter.start();
  EXPECT_FALSE(happens_within([&] { return proxy.counts().accepted > enough; }, for_so_long));
  EXPECT_GT(proxy.counts().lost_requests, 3U) << "it was not asked again";
  proxy.heal();
  ASSERT_TRUE(comes(served));
  EXPECT_EQ(waiter.release(), Released::released);
}

/// After ten seconds, at most two connections per second.
void expect_longest_pauses(Proxy& proxy, const std::string& url) {
  Party waiter(Client(url, {.give_up = 0s}), "a");
  waiter.client().check(patience);
  proxy.lose_request(1);
  auto served = waiter.start();
  EXPECT_FALSE(comes_within(served, 10s));
  const std::uint64_t before = proxy.counts().accepted;
  EXPECT_FALSE(happens_within([&] { return proxy.counts().accepted > before + 20; }, 10s));
  EXPECT_GT(proxy.counts().accepted, before) << "the client does not try again";
  proxy.heal();
  ASSERT_TRUE(comes(served));
  EXPECT_EQ(waiter.release(), Released::released);
}

class HangingUpRedis : public RedisTest {};
class HangingUpRedisLong : public HangingUpRedis {};
class HangingUpPostgres : public PostgresTest {};
class HangingUpPostgresLong : public HangingUpPostgres {};

TEST_F(HangingUpRedis, IsConnectedToEverLater) {
  Proxy proxy(server().port());
  expect_pauses(proxy, proxy.url());
}

// Promise: L7
TEST_F(HangingUpRedisLong, IsConnectedToTwicePerSecond) {
  Proxy proxy(server().port());
  expect_longest_pauses(proxy, proxy.url());
}

TEST_F(HangingUpPostgres, IsConnectedToEverLater) {
  Proxy proxy(server().port(), {.protocol = test::ProxyProtocol::postgres});
  expect_pauses(proxy, PostgresServer::url_by(proxy.port()));
}

// Promise: L7
TEST_F(HangingUpPostgresLong, IsConnectedToTwicePerSecond) {
  Proxy proxy(server().port(), {.protocol = test::ProxyProtocol::postgres});
  expect_longest_pauses(proxy, PostgresServer::url_by(proxy.port()));
}

}  // namespace
}  // namespace mortise::fault
