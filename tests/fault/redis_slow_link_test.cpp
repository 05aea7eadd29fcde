// SPDX-License-Identifier: MIT
// Goal: a slow connection is not taken for a broken one, and no more requests are under way than a
// server answers in time. Method: a proxy that delays, or keeps, what goes through.
#include <mortise/guards.hpp>

#include "fault/redis_proxied.hpp"

#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

namespace mortise::fault {
namespace {

class RedisSlowLink : public ProxiedRedisTest {
 protected:
  /// Of all clients since the server began.
  [[nodiscard]] std::uint64_t connections() {
    return std::stoull(talk_.info("stats").at("total_connections_received"));
  }

 private:
  RedisTalk talk_ = server().talk();
};

// The round trip is longer than the second after which a request counts as lost on a fast link.
// Promise: L8
TEST_F(RedisSlowLink, ALockIsHeldLongerThanItsLease) {
  const auto record = std::make_shared<Record>();
  proxy().delay(600ms, 600ms);
  Client mine(proxy().url(), {.observer = record});
  Lock lock = mine.make_lock("a", {.lease = 9s});
  ASSERT_TRUE(lock.try_lock_for(10s));
  const std::uint64_t before = connections();
  // Each third of the lease.
  for (std::size_t renewals = 1; renewals <= 4; ++renewals) {
    ASSERT_TRUE(record->told(Record::Kind::renewed, renewals));
  }
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(connections(), before) << "the connection was taken for a broken one";
  EXPECT_TRUE(is_held("a"));
  lock.unlock();
}

// A server ignores a request after a moment of its clock. Here a request takes longer than a second
// to arrive, and the connection still counts as good. (Each step of a new one has two seconds.)
// Promise: L7
TEST_F(RedisSlowLink, ALockIsTakenByRequestsThatArriveLate) {
  proxy().delay(850ms, 850ms);
  Client mine(proxy().url());
  mine.check(20s);
  proxy().delay(1'500ms, 1'500ms);
  Lock lock = mine.make_lock("a", {.lease = 30s});
  EXPECT_TRUE(lock.try_lock_for(20s));
  EXPECT_TRUE(is_held("a"));
}

// Promise: L7
TEST_F(RedisSlowLink, NoMoreThan512RequestsAreUnderWay) {
  constexpr std::size_t names = 1'000;
  Client mine = ready_client();
  proxy().hold_requests(true);
  std::vector<Lock> all;
  for (std::size_t i = 0; i < names; ++i) all.push_back(mine.make_lock("n" + std::to_string(i)));
  std::error_code error;
  Guards held;
  std::jthread caller([&] { held = lock_all(std::move(all), {.wait = 10s}, error); });
  EXPECT_TRUE(eventually([&] { return proxy().held() >= 512; }));
  EXPECT_EQ(proxy().held(), 512U);
  proxy().hold_requests(false);
  proxy().release_held();
  caller.join();
  EXPECT_FALSE(error) << error.message();
  EXPECT_EQ(held.size(), names);
}

struct SlowLink {
  std::chrono::milliseconds round_trip{};
  std::chrono::milliseconds lease{};
  std::chrono::milliseconds held{};
  friend std::ostream& operator<<(std::ostream& out, const SlowLink& link) {
    return out << link.round_trip.count() << " ms, lease " << link.lease.count() << " ms";
  }
};

class RedisSlowLinkLong : public RedisSlowLink, public ::testing::WithParamInterface<SlowLink> {};

// Promise: L8
TEST_P(RedisSlowLinkLong, ALockIsHeldOnOneConnectionForManyLeases) {
  const auto& [round_trip, lease, held] = GetParam();
  const auto record = std::make_shared<Record>();
  proxy().delay(round_trip / 2, round_trip / 2);
  Client mine(proxy().url(), {.observer = record});
  Lock lock = mine.make_lock("a", {.lease = lease});
  ASSERT_TRUE(lock.try_lock_for(patience));
  EXPECT_FALSE(happens_within([&] { return lock.lost().stop_requested(); }, held));
  EXPECT_TRUE(is_held("a"));
  // Each third of the lease. On a loaded machine, some come late.
  const auto renewals = static_cast<std::size_t>(held / (lease / 3));
  EXPECT_GT(record->count(Record::Kind::renewed), renewals / 2);
  EXPECT_EQ(record->count(Record::Kind::failed), 0U);
  lock.unlock();  // the caller does not wait for so late an answer
  EXPECT_TRUE(eventually([&] { return !is_held("a"); }));
  EXPECT_EQ(record->count(Record::Kind::lost), 0U);
  EXPECT_LE(proxy().counts().accepted, 2U) << "one for requests, and one for pushes";
}

INSTANTIATE_TEST_SUITE_P(Links, RedisSlowLinkLong,
                         ::testing::Values(SlowLink{1'300ms, 30s, 5min}, SlowLink{200ms, 1s, 60s}));

}  // namespace
}  // namespace mortise::fault
