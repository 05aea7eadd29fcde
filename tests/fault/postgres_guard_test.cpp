// SPDX-License-Identifier: MIT
// Goal: inside the user's own transaction a stale holder can not commit, a take-over waits for the
// guarded commit, and a lock that is taken for a transaction excludes leases and other
// transactions, at every isolation level. Method: scenes of two clients and their transactions,
// step by step.
#include "fault/postgres_fixture.hpp"

#include <string>

namespace mortise::fault {
namespace {

class PostgresGuards : public PostgresTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    server().talk().run(
        "create table orders (id int primary key, charged int);"
        "insert into orders values (1, 0); grant all on orders to shop");
  }
  [[nodiscard]] static std::string begin() {
    return std::string("begin isolation level ") + GetParam();
  }
  [[nodiscard]] std::string charged() { return see("select charged from orders"); }
  [[nodiscard]] static bool is_read_committed() {
    return std::string(GetParam()) == "read committed";
  }
  /// Gives the name a row.
  void make_known(const std::string& name) {
    Client mine = client();
    Lock lock = mine.lock(name);
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
  /// The guard refuses, and what follows in the transaction can not be committed.
  static void expect_refused(PostgresTalk& user, const Guard& guard) {
    const Failure failure = failure_of([&] { postgres::guard(user.handle(), guard); });
    EXPECT_TRUE(failure.code == Errc::lost || failure.code == Errc::unavailable) << failure.text;
  }
};

TEST_P(PostgresGuards, AHolderCommits) {
  Client mine = client();
  Lock lock = mine.lock("a");
  const Guard guard(lock);
  PostgresTalk user = server().user();
  user.run(begin());
  postgres::guard(user.handle(), guard);
  user.run("update orders set charged = charged + 1; commit");
  EXPECT_EQ(charged(), "1");
}

TEST_P(PostgresGuards, AHolderWhoseLeaseIsOverIsRefusedThoughNobodyElseHolds) {
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 300ms, .renew = false});
  const Guard guard(lock);
  PostgresTalk user = server().user();
  ASSERT_TRUE(eventually([&] { return !is_held("a"); }));
  user.run(begin());
  expect_refused(user, guard);
}

TEST_P(PostgresGuards, AHolderThatWasReplacedIsRefusedThoughHeDoesNotKnow) {
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 60s, .renew = false});
  const Guard guard(lock);
  PostgresTalk user = server().user();
  // As if his lease had ended while he stood still: somebody else has the name.
  server().talk().run("update mortise.lock set number = number + 1, attempt = '\\x00'");
  ASSERT_GT(guard.valid_for(), 0ns);
  user.run(begin());
  expect_refused(user, guard);
}

TEST_P(PostgresGuards, ASnapshotFromBeforeTheTakeOverDoesNotHelp) {
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 60s, .renew = false});
  const Guard guard(lock);
  PostgresTalk user = server().user();
  user.run(begin());
  user.run("select * from orders");
  server().talk().run("update mortise.lock set number = number + 1, attempt = '\\x00'");
  ASSERT_GT(guard.valid_for(), 0ns);
  expect_refused(user, guard);
  // Whoever goes on all the same has nothing to show for it at the stricter levels.
  if (std::string(GetParam()) != "read committed") {
    EXPECT_NE(user.refusal("update orders set charged = charged + 1"), "");
    user.run("commit");
    EXPECT_EQ(charged(), "0");
  }
}

// What was true when it began to wait for the row need not be true when it has it.
TEST_P(PostgresGuards, AGuardThatWaitsBeyondTheLeaseRefuses) {
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 600ms, .renew = false});
  lock.lock();
  PostgresTalk root = server().talk();
  root.run("begin; select * from mortise.lock for update");
  PostgresTalk user = server().user();
  user.run(begin());
  user.send("do $$ begin if not mortise.guard('a', " + std::to_string(number("a")) +
            ") then raise 'refused'; end if; end $$");
  ASSERT_TRUE(
      eventually([&] { return see("select count(*) from pg_locks where not granted") != "0"; }));
  ASSERT_TRUE(eventually([&] { return !is_held("a"); }));
  root.run("commit");
  EXPECT_THROW(static_cast<void>(user.answered(patience)), PostgresTalkError);
}

TEST_P(PostgresGuards, ATakeOverWaitsForTheGuardedCommit) {
  constexpr std::chrono::milliseconds lease{400};
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = lease, .renew = false});
  const Guard guard(lock);
  PostgresTalk user = server().user();
  user.run(begin());
  postgres::guard(user.handle(), guard);
  Party other(client(), "a");
  auto served = other.start();
  // His lease is long over, and the name is still his, as far as the database goes.
  ASSERT_TRUE(eventually([&] { return guard.valid_for() == 0ns; }));
  EXPECT_FALSE(comes(served, 2 * lease)) << "a take-over went past the guard";
  EXPECT_FALSE(client().lock("a").try_lock());
  EXPECT_EQ(see("select count(*) from pg_locks where not granted"), "0") << "a statement waits";
  user.run("update orders set charged = charged + 1; commit");
  ASSERT_TRUE(comes(served, 1s + 1s));
  EXPECT_GT(served.get(), guard.token());
  EXPECT_EQ(charged(), "1");
  EXPECT_EQ(other.release(), Released::released);
}

// The row was free when it began to wait for it, and is not when it has it.
TEST_P(PostgresGuards, ALockInATransactionThatWaitsForAGrantFindsTheLease) {
  make_known("a");
  PostgresTalk granting = server().user();
  granting.run("begin; select mortise.take('a', '\\x00', 20000000, '', 16)");
  PostgresTalk user = server().user();
  user.run(begin());
  const std::string state = lock_in_behind(granting, user, "H");
  EXPECT_EQ(state, is_read_committed() ? "" : "40001");
}

// Its transaction would not see what the one before it has done.
TEST_P(PostgresGuards, ALockInATransactionIsNotGivenToAnOlderSnapshot) {
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

TEST_P(PostgresGuards, ALockInATransactionLastsAsLongAsIt) {
  PostgresTalk one = server().user();
  PostgresTalk two = server().user();
  Client mine = client();
  Lock lock = mine.lock("a");
  one.run(begin());
  ASSERT_TRUE(postgres::lock_in(one.handle(), "a", 1s));
  two.run(begin());
  EXPECT_LT(duration_of([&] { EXPECT_FALSE(postgres::lock_in(two.handle(), "a", 200ms)); }),
            200ms + allowance + slack);
  EXPECT_EQ(two.value("select 1"), "1") << "the transaction did not survive the time-out";
  two.run("rollback");
  EXPECT_LT(duration_of([&] { EXPECT_FALSE(lock.try_lock()); }), 300ms);
  one.run("commit");
  EXPECT_TRUE(lock.try_lock_for(1s + 500ms));
  lock.unlock();
  one.run(begin());
  EXPECT_TRUE(postgres::lock_in(one.handle(), "a", 1s));
  one.run("rollback");
  EXPECT_TRUE(lock.try_lock_for(1s + 500ms));
  lock.unlock();
}

TEST_P(PostgresGuards, ALeasedNameIsNotLockedInATransaction) {
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 20s});
  lock.lock();
  PostgresTalk user = server().user();
  user.run(begin());
  EXPECT_FALSE(postgres::lock_in(user.handle(), "a", 0ms));
  EXPECT_LT(duration_of([&] { EXPECT_FALSE(postgres::lock_in(user.handle(), "a", 300ms)); }),
            300ms + allowance + slack);
  user.run("rollback");
  // The holder notices nothing of it.
  EXPECT_EQ(lock.release(), Released::released);
  user.run(begin());
  EXPECT_TRUE(postgres::lock_in(user.handle(), "a", 1s));
  user.run("commit");
}

TEST_P(PostgresGuards, WhoWaitsForALeaseInATransactionIsServedOrToldWhenItIsGivenBack) {
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 20s});
  lock.lock();
  PostgresTalk user = server().user();
  user.run(begin());
  Worker worker;
  bool locked = false;
  auto over = worker.start([&] {
    return failure_of([&] { locked = postgres::lock_in(user.handle(), "a", patience); });
  });
  EXPECT_FALSE(comes(over, 300ms));
  EXPECT_EQ(lock.release(), Released::released);
  ASSERT_TRUE(comes(over, 3s));
  const Failure failure = over.get();
  // Whose snapshot is of the time before may not go on as if he had seen what the holder did.
  const bool sees_the_present = std::string(GetParam()) == "read committed";
  EXPECT_EQ(locked, sees_the_present);
  EXPECT_EQ(failure.code, sees_the_present ? std::error_code() : Errc::unavailable) << failure.text;
  user.run("rollback");
}

TEST_P(PostgresGuards, TwoOrdersAreADeadlockAndReportedAsOne) {
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

TEST_P(PostgresGuards, SettingsOfTheTransactionStayWhatTheyWere) {
  PostgresTalk user = server().user();
  Client mine = client();
  Lock lock = mine.lock("b");
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

std::string name_of(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& letter : name) letter = letter == ' ' ? '_' : letter;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Postgres, PostgresGuards,
                         ::testing::Values("read committed", "repeatable read", "serializable"),
                         name_of);

}  // namespace
}  // namespace mortise::fault
