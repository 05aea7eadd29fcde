// SPDX-License-Identifier: MIT
// Goal: a lock that is taken for the length of a transaction excludes leases and other
// transactions, at every isolation level. Method: scenes of two clients and their transactions,
// step by step.
#include "fault/postgres_transactions.hpp"

#include <string>

namespace mortise::fault {
namespace {

class PostgresLockIn : public PostgresTransactions {
 protected:
  /// Gives the name a row.
  void make_known(const std::string& name) {
    Client mine = client();
    Lock lock = mine.make_lock(name);
    lock.lock();
    lock.unlock();
  }
  /// Has `user` wait for 'a' until `before` has committed, and expects that outcome.
  /// @return the SQLSTATE of its error
  [[nodiscard]] std::string lock_in_behind(PostgresTalk& before, PostgresTalk& user,
                                           const std::string& outcome) {
    user.send("do $$ begin if mortise.lock_in('a', 5000) <> '" + outcome +
              "' then raise 'another outcome'; end if; end $$");
    EXPECT_TRUE(
        eventually([&] { return see("select count(*) from pg_locks where not granted") != "0"; }));
    before.run("commit");
    try {
      EXPECT_TRUE(user.answered(patience));
    } catch (const PostgresTalkError& error) {
      return error.state();
    }
    return "";
  }
};

// The row was free when it began to wait for it, and is not when it has it.
TEST_P(PostgresLockIn, ThatWaitsForAGrantFindsTheLease) {
  make_known("a");
  PostgresTalk granting = server().user();
  granting.run("begin; select mortise.take('a', '\\x00', 20000000, '', 0, '', 'infinity')");
  PostgresTalk user = server().user();
  user.run(begin());
  const std::string state = lock_in_behind(granting, user, "H");
  EXPECT_EQ(state, is_read_committed() ? "" : "40001");
}

// Its transaction would not see what the one before it has done.
TEST_P(PostgresLockIn, IsNotGivenToAnOlderSnapshot) {
  make_known("a");
  PostgresTalk before = server().user();
  before.run("begin");
  ASSERT_TRUE(postgres::lock_in(before.handle(), "a", 1s));
  PostgresTalk user = server().user();
  user.run(begin());
  user.run("select * from orders");
  const std::string state = lock_in_behind(before, user, "T");
  EXPECT_EQ(state, is_read_committed() ? "" : "40001");
}

TEST_P(PostgresLockIn, LastsAsLongAsItsTransaction) {
  PostgresTalk one = server().user();
  PostgresTalk two = server().user();
  Client mine = client();
  Lock lock = mine.make_lock("a");
  one.run(begin());
  ASSERT_TRUE(postgres::lock_in(one.handle(), "a", 1s));
  two.run(begin());
  const auto waits = [&] { EXPECT_FALSE(postgres::lock_in(two.handle(), "a", 200ms)); };
  constexpr auto in_time = 200ms + allowance + slack;
  EXPECT_LT(least_duration_of(in_time, waits), in_time);
  EXPECT_EQ(two.value("select 1"), "1") << "the transaction did not survive the time-out";
  two.run("rollback");
  EXPECT_LT(least_duration_of(300ms, [&] { EXPECT_FALSE(lock.try_lock()); }), 300ms);
  one.run("commit");
  EXPECT_TRUE(taken_within(lock, 1s + 500ms));
  lock.unlock();
  one.run(begin());
  EXPECT_TRUE(postgres::lock_in(one.handle(), "a", 1s));
  one.run("rollback");
  EXPECT_TRUE(taken_within(lock, 1s + 500ms));
  lock.unlock();
}

TEST_P(PostgresLockIn, DoesNotTakeALeasedName) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 20s});
  lock.lock();
  PostgresTalk user = server().user();
  user.run(begin());
  EXPECT_FALSE(postgres::lock_in(user.handle(), "a", 0ms));
  EXPECT_FALSE(postgres::lock_in(user.handle(), "a", std::chrono::hours(-3'000'000)));
  const auto waits = [&] { EXPECT_FALSE(postgres::lock_in(user.handle(), "a", 300ms)); };
  constexpr auto in_time = 300ms + allowance + slack;
  EXPECT_LT(least_duration_of(in_time, waits), in_time);
  user.run("rollback");
  // The holder notices nothing of it.
  EXPECT_EQ(lock.release(), Released::released);
  user.run(begin());
  EXPECT_TRUE(postgres::lock_in(user.handle(), "a", std::chrono::milliseconds::max()));
  user.run("commit");
}

TEST_P(PostgresLockIn, WhoWaitsForALeaseInATransactionIsServedOrToldWhenItIsGivenBack) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 20s});
  lock.lock();
  PostgresTalk user = server().user();
  user.run(begin());
  Worker worker;
  bool locked = false;
  auto over = worker.start([&] {
    return failure_of([&] { locked = postgres::lock_in(user.handle(), "a", patience); });
  });
  EXPECT_FALSE(comes_within(over, 300ms));
  EXPECT_EQ(lock.release(), Released::released);
  ASSERT_TRUE(comes(over, 3s));
  const Failure failure = over.get();
  // A transaction whose snapshot is older may not go on as if it had seen what the holder did.
  const bool sees_the_present = is_read_committed();
  EXPECT_EQ(locked, sees_the_present);
  EXPECT_EQ(failure.code, sees_the_present ? std::error_code() : Errc::unavailable) << failure.text;
  user.run("rollback");
}

TEST_P(PostgresLockIn, TwoOrdersAreADeadlockAndReportedAsOne) {
  PostgresTalk one = server().user();
  PostgresTalk two = server().user();
  one.run(begin());
  two.run(begin());
  ASSERT_TRUE(postgres::lock_in(one.handle(), "a", 1s));
  ASSERT_TRUE(postgres::lock_in(two.handle(), "b", 1s));
  Worker worker;
  auto crossed = worker.start([&] {
    bool locked = false;
    const Failure failure =
        failure_of([&] { locked = postgres::lock_in(one.handle(), "b", patience); });
    if (!locked) one.run("rollback");
    return std::pair(failure, locked);
  });
  bool mine = false;
  const Failure failure =
      failure_of([&] { mine = postgres::lock_in(two.handle(), "a", patience); });
  if (!mine) two.run("rollback");
  ASSERT_TRUE(comes(crossed));
  const auto [theirs, other] = crossed.get();
  // One of them is told, the other goes on.
  EXPECT_NE(mine, other);
  const Failure& told = mine ? theirs : failure;
  EXPECT_EQ(told.code, Errc::unavailable) << told.text;
  EXPECT_THAT(told.text, HasSubstr("deadlock"));
  (mine ? two : one).run("commit");
}

TEST_P(PostgresLockIn, SettingsOfTheTransactionStayWhatTheyWere) {
  PostgresTalk user = server().user();
  Client mine = client();
  Lock lock = mine.make_lock("b");
  const Guard guard(lock);
  user.run("set lock_timeout = '7s'; set synchronous_commit = remote_write");
  user.run(begin());
  postgres::guard(user.handle(), guard);
  ASSERT_TRUE(postgres::lock_in(user.handle(), "a", 1s));
  ASSERT_FALSE(postgres::lock_in(user.handle(), "b", 20ms));
  EXPECT_EQ(user.value("show lock_timeout"), "7s");
  EXPECT_EQ(user.value("show synchronous_commit"), "remote_write");
  user.run("update orders set charged = 1; commit");
  EXPECT_EQ(charged(), "1");
}

INSTANTIATE_TEST_SUITE_P(Postgres, PostgresLockIn, isolation_levels(), isolation_level_of);

}  // namespace
}  // namespace mortise::fault
