// SPDX-License-Identifier: MIT
// Goal: a PostgreSQL that crashes and comes back costs time, no hold, no token and no waiter's turn
// (S1, S2, L7, L8). Method: immediate shutdowns, kill -9 and new starts, while a lock is held and
// while it is waited for.
#include "fault/postgres_fixture.hpp"

#include <csignal>

namespace mortise::fault {
namespace {

class PostgresRestart : public PostgresTest {
 protected:
  void crash_and_start() {
    server().crash();
    server().start();
  }
};

TEST_F(PostgresRestart, AHoldStandsAndIsRenewed) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Client other = client();
  Lock lock = mine.lock("a", {.lease = 3s});
  lock.lock();
  const Token token = lock.token();
  crash_and_start();
  const std::size_t before = record->count(Record::Kind::renewed);
  EXPECT_TRUE(record->told(Record::Kind::renewed, before + 2));
  EXPECT_FALSE(other.lock("a").try_lock());
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_GT(lock.valid_for(), 1s);
  EXPECT_EQ(lock.token(), token);
  EXPECT_EQ(lock.release(), Released::released);
  Lock next = other.lock("a");
  EXPECT_TRUE(next.try_lock_for(patience));
  EXPECT_GT(next.token(), token);
  next.unlock();
}

TEST_F(PostgresRestart, AWaiterGoesOnWaitingAndIsServedByTheRelease) {
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 5s});
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(comes_to_wait("a"));
  crash_and_start();
  // The client is connected again, and is not served.
  ASSERT_TRUE(eventually(
      [&] { return see("select count(*) from pg_stat_activity where usename = 'shop'") != "0"; }));
  EXPECT_FALSE(comes(served, 0s));
  EXPECT_GT(lock.valid_for(), 0ns);
  const Token token = lock.token();
  EXPECT_EQ(lock.release(), Released::released);
  ASSERT_TRUE(comes(served));
  EXPECT_GT(served.get(), token);
  EXPECT_EQ(waiter.release(), Released::released);
}

TEST_F(PostgresRestart, AWaiterIsServedAfterTheOldLeaseAndNotBefore) {
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 2s, .renew = false});
  lock.lock();
  const Owner holder = Owner().or_this_thread();
  Party waiter(client(), "a");
  auto left = waiter.worker().start([&] {
    waiter.lock().lock();
    return lock.valid_for(holder);
  });
  ASSERT_TRUE(comes_to_wait("a"));
  crash_and_start();
  ASSERT_TRUE(comes(left, 2s + 1s));
  EXPECT_EQ(left.get(), 0ns) << "two held the lock";
  EXPECT_EQ(waiter.release(), Released::released);
  lock.unlock();
}

// Promise: S2
TEST_F(PostgresRestart, TokensGrowOverCrashesAndKills) {
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 1s});
  Token last;
  for (int round = 0; round < 4; ++round) {
    const Guard guard(lock, {.wait = patience});
    ASSERT_TRUE(guard) << guard.error_text();
    EXPECT_GT(guard.token(), last) << round;
    last = guard.token();
    round % 2 == 0 ? server().crash() : server().kill();
    server().start();
  }
}

TEST_F(PostgresRestart, AServerThatStaysAwayBeyondTheLeaseHasTheHoldLostByTheClock) {
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 600ms});
  lock.lock();
  server().crash();
  const std::chrono::nanoseconds left = lock.valid_for();
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, left + allowance + slack));
  EXPECT_EQ(lock.valid_for(), 0ns);
  server().start();
  lock.unlock();
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(PostgresRestart, WhoComesWhileTheServerIsDownIsServedWhenItIsBack) {
  Party early(client(), "a");
  early.client().check(patience);
  server().crash();
  auto served = early.start();
  Party fresh(client(), "b");
  auto also = fresh.start();
  ASSERT_TRUE(early.worker().falls_asleep());
  ASSERT_TRUE(fresh.worker().falls_asleep());
  server().start();
  EXPECT_TRUE(comes(served, 3s));
  EXPECT_TRUE(comes(also, 3s));
  EXPECT_EQ(early.release(), Released::released);
  EXPECT_EQ(fresh.release(), Released::released);
}

TEST_F(PostgresRestart, AReleaseWhileTheServerIsDownIsDoneWhenItIsBack) {
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 20s});
  lock.lock();
  server().crash();
  Released outcome{};
  EXPECT_LT(own_duration_of([&] { outcome = lock.release(); }), 1s + slack);
  EXPECT_EQ(outcome, Released::unknown);
  server().start();
  // Far sooner than by its lease.
  EXPECT_TRUE(eventually([&] { return !is_held("a"); }, 6s));
}

TEST_F(PostgresRestart, ABackendThatIsKilledTakesAllSessionsAndNoLock) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.lock("a", {.lease = 3s});
  lock.lock();
  // The server takes its shared memory for damaged: it ends everybody and recovers.
  const PostgresTalk somebody = server().talk();
  ASSERT_EQ(::kill(somebody.server_process(), SIGKILL), 0);
  const std::size_t before = record->count(Record::Kind::renewed);
  EXPECT_TRUE(record->told(Record::Kind::renewed, before + 2));
  EXPECT_EQ(lock.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
