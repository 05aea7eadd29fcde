// SPDX-License-Identifier: MIT
// Goal: a transaction that is tied to all holds of lock_all() commits only if each of them stands,
// at every isolation level. Method: a transfer between two accounts, and one hold after the other
// is replaced, is over, or is in another store.
#include <mortise/memory.hpp>

#include "fault/postgres_transactions.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace mortise::fault {
namespace {

class PostgresGuardsTogether : public PostgresTransactions {
 protected:
  /// As if the lease of that name had ended while its holder stood still: somebody else has it.
  void replace(const std::string& name) {
    server().talk().run(
        "update mortise.lock set number = number + 1, attempt = '\\x00' where name = '" + name +
        "'");
  }
  static void expect_refused(const Failure& failure) {
    EXPECT_TRUE(failure.code == Errc::lost || failure.code == Errc::unavailable) << failure.text;
  }
};

TEST_P(PostgresGuardsTogether, AHolderOfAllCommits) {
  Client mine = client();
  const Guards both = lock_all(mine, {"b", "a"});
  PostgresTalk user = server().user();
  user.run(begin());
  postgres::guard(user.handle(), both);
  user.run("update orders set charged = charged + 1");
  postgres::commit(user.handle(), both);
  EXPECT_EQ(user.refusal("savepoint over"), "25P01") << "the transaction is still open";
  EXPECT_EQ(charged(), "1");
}

// Promise: S9
TEST_P(PostgresGuardsTogether, AForkedChildIsOut) {
  Client mine = client();
  const Guards both = lock_all(mine, {"a", "b"});
  const Guard one(mine, "c");
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // if it hangs
    PostgresTalk user = server().user();
    user.run(begin());
    const bool all = failure_of([&] { postgres::guard(user.handle(), both); }).code == Errc::closed;
    const bool alone =
        failure_of([&] { postgres::commit(user.handle(), one); }).code == Errc::closed;
    ::_exit(all && alone ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "it hangs, or has another answer than closed";
}

TEST_P(PostgresGuardsTogether, OneHoldThatWasReplacedRefusesTheTransaction) {
  for (const std::string name : {"a", "b"}) {
    Client mine = client();
    Guards both = lock_all(mine, {"a", "b"}, {}, {.lease = 60s, .renew = false});
    PostgresTalk user = server().user();
    replace(name);
    ASSERT_GT(both.valid_for(), 0ns) << "the holder does not know";
    user.run(begin());
    const Failure failure = failure_of([&] { postgres::guard(user.handle(), both); });
    expect_refused(failure);
    EXPECT_THAT(failure.text, HasSubstr(name));
    user.run("rollback");
    server().talk().run("update mortise.lock set expires_at = '-infinity'");
  }
}

TEST_P(PostgresGuardsTogether, ACommitLooksAtEachOfThemAgain) {
  for (const std::string name : {"a", "b"}) {
    Client mine = client();
    const Guards both = lock_all(mine, {"a", "b"}, {}, {.lease = 60s, .renew = false});
    PostgresTalk user = server().user();
    user.run(begin());
    user.run("savepoint before");
    postgres::guard(user.handle(), both);
    user.run("rollback to before");
    user.run("update orders set charged = charged + 1");
    replace(name);
    expect_refused(failure_of([&] { postgres::commit(user.handle(), both); }));
    user.run("rollback");
    EXPECT_EQ(charged(), "0");
    server().talk().run("update mortise.lock set expires_at = '-infinity'");
  }
}

TEST_P(PostgresGuardsTogether, ATakeOverOfEachWaitsForTheCommit) {
  constexpr std::chrono::milliseconds lease{400};
  Client mine = client();
  const Guards both = lock_all(mine, {"a", "b"}, {}, {.lease = lease, .renew = false});
  PostgresTalk user = server().user();
  user.run(begin());
  postgres::guard(user.handle(), both);
  Party first(client(), "a");
  Party second(client(), "b");
  auto served_first = first.start();
  auto served_second = second.start();
  ASSERT_TRUE(eventually([&] { return both.valid_for() == 0ns; }));
  EXPECT_FALSE(comes_within(served_first, 2 * lease)) << "a take-over went past the guard of a";
  EXPECT_FALSE(comes_within(served_second, 1ms)) << "a take-over went past the guard of b";
  user.run("update orders set charged = charged + 1; commit");
  ASSERT_TRUE(comes(served_first, patience));
  ASSERT_TRUE(comes(served_second, patience));
  EXPECT_GT(served_first.get(), both.token("a"));
  EXPECT_GT(served_second.get(), both.token("b"));
  EXPECT_EQ(charged(), "1");
}

TEST_P(PostgresGuardsTogether, WhatHoldsNothingIsLostAndNoneAtAllIsFine) {
  Client mine = client();
  Guards both = lock_all(mine, {"a", "b"});
  PostgresTalk user = server().user();
  EXPECT_EQ(failure_of([&] { postgres::guard(user.handle(), both); }).code, Errc::misconfigured)
      << "there is no transaction";
  user.run(begin());
  both.unlock();
  EXPECT_EQ(failure_of([&] { postgres::guard(user.handle(), both); }).code, Errc::lost);
  EXPECT_EQ(failure_of([&] { postgres::commit(user.handle(), both); }).code, Errc::lost);
  user.run("update orders set charged = charged + 1");
  postgres::commit(user.handle(), lock_all({}));
  EXPECT_EQ(charged(), "1");
}

TEST_P(PostgresGuardsTogether, AHoldOfAnotherStoreIsNamed) {
  Client mine = client();
  Client elsewhere(memory::backend("memory:"));
  const Guards both = lock_all({mine.make_lock("a"), elsewhere.make_lock("b")});
  PostgresTalk user = server().user();
  user.run(begin());
  const Failure failure = failure_of([&] { postgres::guard(user.handle(), both); });
  EXPECT_EQ(failure.code, Errc::misconfigured);
  EXPECT_THAT(failure.text, HasSubstr("lock b: the hold is in memory"));
}

INSTANTIATE_TEST_SUITE_P(Isolation, PostgresGuardsTogether, isolation_levels(), isolation_level_of);

}  // namespace
}  // namespace mortise::fault
