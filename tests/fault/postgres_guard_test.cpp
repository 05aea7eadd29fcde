// SPDX-License-Identifier: MIT
// Goal: inside the user's own transaction a stale holder cannot commit, and a take-over waits for
// the guarded commit, at every isolation level. Method: scenes of two clients and their
// transactions, step by step.
#include "fault/postgres_transactions.hpp"

#include <string>

namespace mortise::fault {
namespace {

class PostgresGuards : public PostgresTransactions {
 protected:
  /// The guard refuses, and what follows in the transaction cannot be committed.
  static void expect_refused(PostgresTalk& user, const Guard& guard) {
    const Failure failure = failure_of([&] { postgres::guard(user.handle(), guard); });
    EXPECT_TRUE(failure.code == Errc::lost || failure.code == Errc::unavailable) << failure.text;
  }
};

TEST_P(PostgresGuards, AHolderCommits) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  const Guard guard(lock);
  PostgresTalk user = server().user();
  user.run(begin());
  postgres::guard(user.handle(), guard);
  user.run("update orders set charged = charged + 1; commit");
  EXPECT_EQ(charged(), "1");
}

// A rollback to an earlier savepoint frees the row, and nothing tells of that.
TEST_P(PostgresGuards, ARollbackBehindTheGuardIsFoundByACommitThatLooksAgain) {
  for (const bool replaced : {false, true}) {
    server().talk().run("update orders set charged = 0");
    Client mine = client();
    Lock lock = mine.make_lock("a", {.lease = 60s, .renew = false});
    const Guard guard(lock);
    PostgresTalk user = server().user();
    user.run(begin());
    user.run("savepoint before");
    postgres::guard(user.handle(), guard);
    user.run("rollback to before");
    user.run("update orders set charged = charged + 1");
    if (replaced) {
      server().talk().run("set lock_timeout = '5s'; update mortise.lock set number = number + 1");
      const Failure failure = failure_of([&] { postgres::commit(user.handle(), guard); });
      EXPECT_TRUE(failure.code == Errc::lost || failure.code == Errc::unavailable) << failure.text;
      user.run("rollback");
      EXPECT_EQ(charged(), "0");
    } else {
      postgres::commit(user.handle(), guard);
      EXPECT_EQ(user.refusal("savepoint over"), "25P01") << "the transaction is still open";
      EXPECT_EQ(charged(), "1");
    }
    server().talk().run("update mortise.lock set expires_at = '-infinity'");
  }
}

TEST_P(PostgresGuards, AHolderWhoseLeaseIsOverIsRefusedThoughNobodyElseHolds) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 300ms, .renew = false});
  const Guard guard(lock);
  PostgresTalk user = server().user();
  ASSERT_TRUE(eventually([&] { return !is_held("a"); }));
  user.run(begin());
  expect_refused(user, guard);
}

TEST_P(PostgresGuards, AHolderThatWasReplacedIsRefusedThoughHeDoesNotKnow) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 60s, .renew = false});
  const Guard guard(lock);
  PostgresTalk user = server().user();
  // As if its lease had ended while it stood still: somebody else has the name.
  server().talk().run("update mortise.lock set number = number + 1, attempt = '\\x00'");
  ASSERT_GT(guard.valid_for(), 0ns);
  user.run(begin());
  expect_refused(user, guard);
}

TEST_P(PostgresGuards, ASnapshotFromBeforeTheTakeOverDoesNotHelp) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 60s, .renew = false});
  const Guard guard(lock);
  PostgresTalk user = server().user();
  user.run(begin());
  user.run("select * from orders");
  server().talk().run("update mortise.lock set number = number + 1, attempt = '\\x00'");
  ASSERT_GT(guard.valid_for(), 0ns);
  expect_refused(user, guard);
  // Whoever goes on all the same has nothing to show for it at the stricter levels.
  if (!is_read_committed()) {
    EXPECT_NE(user.refusal("update orders set charged = charged + 1"), "");
    user.run("commit");
    EXPECT_EQ(charged(), "0");
  }
}

// What was true when it began to wait for the row need not be true when it has it.
TEST_P(PostgresGuards, AGuardThatWaitsBeyondTheLeaseRefuses) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 2s, .renew = false});
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
  Lock lock = mine.make_lock("a", {.lease = lease, .renew = false});
  const Guard guard(lock);
  PostgresTalk user = server().user();
  user.run(begin());
  postgres::guard(user.handle(), guard);
  Party other(client(), "a");
  auto served = other.start();
  // Its lease is long over, and the name is still its own, as far as the database goes.
  ASSERT_TRUE(eventually([&] { return guard.valid_for() == 0ns; }));
  EXPECT_FALSE(comes_within(served, 2 * lease)) << "a take-over went past the guard";
  EXPECT_FALSE(client().make_lock("a").try_lock());
  EXPECT_EQ(see("select count(*) from pg_locks where not granted"), "0") << "a statement waits";
  user.run("update orders set charged = charged + 1; commit");
  ASSERT_TRUE(comes(served, 1s + 1s));
  EXPECT_GT(served.get(), guard.token());
  EXPECT_EQ(charged(), "1");
  EXPECT_EQ(other.release(), Released::released);
}

INSTANTIATE_TEST_SUITE_P(Postgres, PostgresGuards, isolation_levels(), isolation_level_of);

}  // namespace
}  // namespace mortise::fault
