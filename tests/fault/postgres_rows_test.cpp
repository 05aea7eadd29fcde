// SPDX-License-Identifier: MIT
// Goal: no statement of the library waits for a row lock, so that nobody's long transaction stalls
// the renewals of other names, or a try. Method: rows that a guard, a lock in a transaction and an
// administrator keep locked for two seconds, under clients that hold, renew and try.
#include "fault/postgres_fixture.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace mortise::fault {
namespace {

constexpr int others = 20;
constexpr std::chrono::milliseconds rows_lease{3'000};
constexpr std::chrono::milliseconds while_locked{2'200};

class PostgresRows : public PostgresTest {
 protected:
  /// Many holds of one client, each renewed once a second.
  struct Holds {
    explicit Holds(Client mine) : client(std::move(mine)) {
      for (int i = 0; i < others; ++i) {
        locks.push_back(client.make_lock("other/" + std::to_string(i), {.lease = rows_lease}));
        locks.back().lock();
      }
    }
    /// @return the least time that any hold had left while one looked.
    [[nodiscard]] std::chrono::nanoseconds least_left() {
      std::chrono::nanoseconds least = rows_lease;
      const auto until = std::chrono::steady_clock::now() + while_locked;
      while (std::chrono::steady_clock::now() < until) {
        for (const Lock& lock : locks) least = std::min(least, lock.valid_for());
        std::this_thread::sleep_for(2ms);
      }
      return least;
    }
    Client client;
    std::vector<Lock> locks;
  };

  /// A renewal is due when two thirds of the lease are left. One that waits for the end of a lock
  /// comes when much less than a third is left.
  static void expect_on_time(Holds& holds) {
    EXPECT_GT(holds.least_left(), rows_lease / 3) << "a renewal was late";
    for (const Lock& lock : holds.locks) EXPECT_FALSE(lock.lost().stop_requested());
  }
};

// Promise: L8
TEST_F(PostgresRows, AGuardThatIsHeldDelaysNoRenewalAndNotItsOwn) {
  Holds holds(client());
  Lock lock = holds.client.make_lock("guarded", {.lease = rows_lease});
  const Guard guard(lock);
  PostgresTalk user = server().user();
  user.run("begin");
  postgres::guard(user.handle(), guard);
  expect_on_time(holds);
  EXPECT_GT(guard.valid_for(), 0ns);
  EXPECT_FALSE(guard.lost().stop_requested());
  user.run("commit");
}

TEST_F(PostgresRows, ARowThatSomebodyLocksDelaysNoRenewalOfOthersAndIsNotLost) {
  const auto record = std::make_shared<Record>();
  Holds holds(client({.observer = record}));
  // In the middle of the order of names, and renewed together with the others.
  Lock lock = holds.client.make_lock("other/1a", {.lease = rows_lease});
  lock.lock();
  ASSERT_TRUE(record->told(Record::Kind::renewed, others + 1));
  PostgresTalk root = server().talk();
  root.run("begin; select * from mortise.lock where name = 'other/1a' for update");
  PostgresTalk user = server().user();
  user.run("begin");
  ASSERT_TRUE(postgres::lock_in(user.handle(), "other/1b", 1s));
  expect_on_time(holds);
  user.run("commit");
  root.run("commit");
  // Its own renewals were skipped meanwhile, and are made up for.
  EXPECT_TRUE(eventually([&] { return lock.valid_for() > rows_lease / 2; }));
  EXPECT_EQ(record->count(Record::Kind::lost), 0U);
  EXPECT_EQ(lock.release(), Released::released);
}

// Promise: L3
TEST_F(PostgresRows, ATryAndATimedCallOnALockedRowKeepTheirTime) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 6s});
  lock.lock();
  lock.unlock();
  PostgresTalk root = server().talk();
  root.run("begin; select * from mortise.lock where name = 'a' for update");
  EXPECT_LT(least_duration_of(300ms, [&] { EXPECT_FALSE(lock.try_lock()); }), 300ms);
  constexpr auto in_time = 300ms + allowance + slack;
  EXPECT_LT(least_duration_of(in_time, [&] { EXPECT_FALSE(lock.try_lock_for(300ms)); }), in_time);
  // Nobody tells of the end of a row lock: the next re-check finds it.
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(waiter.worker().falls_asleep());
  root.run("commit");
  EXPECT_TRUE(comes(served, 1s + slack + 500ms));
  EXPECT_EQ(waiter.release(), Released::released);
}

TEST_F(PostgresRows, NoStatementOfTheLibraryIsEverSeenWaitingForARowLock) {
  // The server itself says who waits for a lock, from a millisecond on.
  PostgresServer& noted = server(
      {.settings = {"log_lock_waits = on", "deadlock_timeout = 1ms", "log_min_messages = log"}});
  Client mine = client();
  Lock tried = mine.make_lock("tried");
  Lock kept = mine.make_lock("kept", {.lease = 3s});
  PostgresTalk root = noted.talk();
  for (const std::string strength : {"key share", "share", "no key update", "update"}) {
    tried.lock();
    tried.unlock();
    kept.lock();
    root.run("begin; select * from mortise.lock for " + strength);
    // Of these a guard's lets a waiter in, who writes.
    std::error_code error;
    EXPECT_FALSE(tried.try_lock(error)) << strength;
    EXPECT_FALSE(tried.try_lock_for(30ms, error)) << strength;
    // Renewed, or passed over, some times.
    EXPECT_FALSE(happens_within([&] { return kept.lost().stop_requested(); }, 1500ms));
    static_cast<void>(kept.release());
    root.run("commit");
    EXPECT_TRUE(eventually([&] { return !is_held("kept") && !is_held("tried"); }, 5s));
  }
  const std::string log = noted.log();
  EXPECT_EQ(log.find("still waiting for"), std::string::npos) << log;
  EXPECT_EQ(log.find("lock timeout"), std::string::npos) << log;
}

TEST_F(PostgresRows, AReleaseOfALockedRowIsBoundedAndNotForgotten) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 20s});
  lock.lock();
  PostgresTalk root = server().talk();
  root.run("begin; select * from mortise.lock where name = 'a' for update");
  Released outcome{};
  EXPECT_LT(own_duration_of([&] { outcome = lock.release(); }), 1s + allowance + slack);
  EXPECT_NE(outcome, Released::was_lost);
  root.run("commit");
  // Far sooner than by its lease.
  EXPECT_TRUE(eventually([&] { return !is_held("a"); }, 5s));
}

TEST_F(PostgresRows, ATableThatIsLockedAsAWholeKeepsTimedCallsInTime) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 6s});
  mine.check(patience);
  PostgresTalk root = server().talk();
  root.run("begin; lock table mortise.lock in access exclusive mode");
  std::error_code error;
  EXPECT_LT(own_duration_of([&] { EXPECT_FALSE(lock.try_lock_for(300ms, error)); }),
            300ms + allowance + slack);
  EXPECT_TRUE(is_retryable(error)) << error.message();
  root.run("commit");
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(eventually([&] { return !is_held("a"); }, 5s));
}

TEST_F(PostgresRows, ATableThatIsLockedAsAWholeCostsNoConnection) {
  Client mine = client();
  mine.check(patience);
  const auto before = server().talk().rows(std::string(sessions) + " order by pid");
  PostgresTalk root = server().talk();
  root.run("begin; lock table mortise.lock in access exclusive mode");
  Party waiter(std::move(mine), "a");
  auto served = waiter.start();
  // Statements give up soon, are asked again, and answer long before a connection counts as dead.
  const auto times = [&] {
    const std::string log = server().log();
    std::size_t count = 0;
    for (std::size_t at = log.find("lock timeout"); at != std::string::npos;
         at = log.find("lock timeout", at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_TRUE(eventually([&] { return times() >= 10; }, 5s)) << times();
  root.run("commit");
  EXPECT_TRUE(comes(served, 2s + slack));
  for (const test::PostgresRow& one : before) {
    EXPECT_EQ(see(std::string("select count(*) from (") + sessions + ") as s where pid = $1", one),
              "1");
  }
  EXPECT_EQ(waiter.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
