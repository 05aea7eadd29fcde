// SPDX-License-Identifier: MIT
// Goal: a pooler that swallows all that many threads send costs no hold, delays no timed call, and
// is left, or met again, within seconds. Method: a proxy that keeps each connection open, and
// forwards nothing.
#include "fault/postgres_fixture.hpp"
#include "fault/timed_crowd.hpp"

#include <chrono>
#include <iostream>
#include <optional>

namespace mortise::fault {
namespace {

constexpr std::size_t crowd_of_threads = 200;
constexpr auto is_well_within = 5s;

class PostgresSwallowedLong : public PostgresTest {
 protected:
  [[nodiscard]] Proxy& proxy() {
    if (!proxy_) {
      proxy_.emplace(server().port(), Proxy::Options{.protocol = test::ProxyProtocol::postgres});
    }
    return *proxy_;
  }
  [[nodiscard]] Client pooled() {
    return Client(PostgresServer::url_by(proxy().port()) + "?mortise.pooled=yes");
  }
  /// @param swallow returns when new requests can be answered
  template <class Swallow>
  void swallow_all(Swallow swallow) {
    Client mine = pooled();
    Lock held = mine.make_lock("held");
    held.lock();
    TimedCrowd crowd(mine, crowd_of_threads, {});
    ASSERT_TRUE(eventually([&] { return crowd.is_served(); }, 1min));
    swallow(held);
    crowd.expect_service();
    EXPECT_TRUE(eventually([&] { return crowd.is_served(); }, is_well_within));
    // Until its lease would have ended.
    EXPECT_FALSE(happens_within([&] { return held.lost().stop_requested(); }, 32s));
    crowd.end();
    EXPECT_LE(crowd.latest(), allowance);
    std::cout << crowd.calls() << " calls, at most " << crowd.latest() / 1us << " us late, "
              << crowd.latest_by_clock() / 1us << " us by the clock\n";
    EXPECT_EQ(held.release(), Released::released);
  }

 private:
  std::optional<Proxy> proxy_;
};

// Promise: L3, L7, L8
TEST_F(PostgresSwallowedLong, ConnectionsAreReplacedByNewOnes) {
  swallow_all([this](const Lock& /*held*/) { EXPECT_GT(proxy().freeze(true), 0U); });
}

// Promise: L3, L7, L8
TEST_F(PostgresSwallowedLong, ConnectionsServeAgainWhenThePoolerDoes) {
  swallow_all([this](const Lock& held) {
    proxy().blackhole(true);
    EXPECT_FALSE(happens_within([&] { return held.lost().stop_requested(); }, 10s));
    proxy().blackhole(false);
  });
}

}  // namespace
}  // namespace mortise::fault
