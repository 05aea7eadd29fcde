// SPDX-License-Identifier: MIT
// Goal: a server that needs long to begin each statement grants locks, and their holds are renewed.
// Method: a proxy that delays what goes through, as a busy pooler does.
#include "fault/postgres_fixture.hpp"

#include <chrono>
#include <memory>
#include <ostream>

namespace mortise::fault {
namespace {

using Duration = std::chrono::milliseconds;

struct Slow {
  Duration begins_after{};
  std::chrono::seconds lease{};
  friend std::ostream& operator<<(std::ostream& out, const Slow& slow) {
    return out << slow.begins_after.count() << " ms";
  }
};

class PostgresSlowServer : public PostgresTest, public ::testing::WithParamInterface<Slow> {};

// Each statement takes longer than the second after which a request counts as lost on a fast
// connection, and by then it was void.
// Promise: L8
TEST_P(PostgresSlowServer, GrantsALockAndRenewsIt) {
  Proxy proxy(server().port(), {.protocol = test::ProxyProtocol::postgres});
  const auto record = std::make_shared<Record>();
  Client mine(PostgresServer::url_by(proxy.port()), {.observer = record});
  Lock before = mine.make_lock("before");
  ASSERT_TRUE(before.try_lock_for(patience));
  before.unlock();
  proxy.delay(GetParam().begins_after, GetParam().begins_after, Proxy::Direction::to_server);
  Lock lock = mine.make_lock("a", {.lease = GetParam().lease});
  ASSERT_TRUE(lock.try_lock_for(20s));
  ASSERT_TRUE(record->told(Record::Kind::renewed, 1));
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_TRUE(is_held("a"));
  lock.unlock();  // the caller does not wait for so late an answer
  EXPECT_TRUE(eventually([&] { return !is_held("a"); }));
}

INSTANTIATE_TEST_SUITE_P(Delays, PostgresSlowServer,
                         ::testing::Values(Slow{.begins_after = 1'500ms, .lease = 15s},
                                           Slow{.begins_after = 3s, .lease = 24s}));

// Each byte counts as an answer, so the client gives the server up only after 12 seconds.
// Promise: L3
TEST_F(PostgresTest, ATimedCallEndsInItsTimeIfTheServerDrips) {
  Proxy proxy(server().port(), {.protocol = test::ProxyProtocol::postgres});
  proxy.drip(500ms);
  Client mine(PostgresServer::url_by(proxy.port()));
  Lock lock = mine.make_lock("a");
  std::error_code error;
  const auto took = test::duration_of([&] { EXPECT_FALSE(lock.try_lock_for(3s, error)); });
  EXPECT_EQ(error, Errc::unavailable);
  EXPECT_GE(took, 3s);
  EXPECT_LT(took, 4s);
}

struct FarServer {
  Duration round_trip{};
  Duration lease{};
  Duration held{};
  friend std::ostream& operator<<(std::ostream& out, const FarServer& far) {
    return out << far.round_trip.count() << " ms, lease " << far.lease.count() << " ms";
  }
};

class PostgresFarServerLong : public PostgresTest,
                              public ::testing::WithParamInterface<FarServer> {};

// Promise: L8
TEST_P(PostgresFarServerLong, HasALockHeldForManyLeasesAndNoConnectionIsLost) {
  const auto& [round_trip, lease, held] = GetParam();
  Proxy proxy(server().port(), {.protocol = test::ProxyProtocol::postgres});
  const auto record = std::make_shared<Record>();
  Client mine(PostgresServer::url_by(proxy.port()), {.observer = record});
  // A new connection needs four round trips. Each of them has two seconds.
  proxy.delay(round_trip / 2, round_trip / 2);
  mine.check(patience);
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
  // A second one may come beside the first, for a call that is repeated. It goes when it is idle.
  EXPECT_LE(proxy.counts().accepted, 2U) << "one was taken for a broken one";
}

INSTANTIATE_TEST_SUITE_P(Far, PostgresFarServerLong,
                         ::testing::Values(FarServer{1'300ms, 30s, 5min},
                                           FarServer{200ms, 1s, 60s}));

}  // namespace
}  // namespace mortise::fault
