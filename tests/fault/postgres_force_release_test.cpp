// SPDX-License-Identifier: MIT
// Goal: a forced release respects transactions: what a guard ties is kept, and a row that another
// transaction has locked is waited for. Method: transactions of a real server next to the call.
#include "fault/postgres_fixture.hpp"
#include "support/force.hpp"

#include <cstddef>
#include <string>

namespace mortise::fault {
namespace {

class PostgresForceRelease : public PostgresTest {
 protected:
  [[nodiscard]] std::size_t force(const std::string& name,
                                  std::chrono::milliseconds wait = patience) {
    return test::force_release(server().owner_url(), name, wait).size();
  }
};

TEST_F(PostgresForceRelease, LeavesTheNextHolderWhereACopyOfItComesLate) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  const std::string copies = "select count(*) from mortise.force_release('a', $1)";
  lock.lock();
  const test::PostgresRow first{std::to_string(grant_of(lock.token()))};
  EXPECT_EQ(server().talk().value(copies, first), "1");
  EXPECT_EQ(server().talk().value(copies, first), "0");
  EXPECT_EQ(lock.release(), Released::was_lost);
  lock.lock();
  EXPECT_EQ(server().talk().value(copies, first), "0");
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(PostgresForceRelease, LetsAGuardedTransactionCommitBeforeAnybodyElseHasTheLock) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 60s, .renew = false});
  const Guard guard(lock);
  PostgresTalk user = server().user();
  user.run("begin");
  postgres::guard(user.handle(), guard);
  ASSERT_TRUE(force("a"));
  Client theirs = client();
  Lock next = theirs.make_lock("a");
  EXPECT_FALSE(next.try_lock_for(answer_time)) << "beside an open guard";
  user.run("commit");
  EXPECT_TRUE(next.try_lock_for(patience));
}

TEST_F(PostgresForceRelease, HasALaterGuardOfTheOldHolderRefused) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 60s, .renew = false});
  const Guard guard(lock);
  ASSERT_TRUE(force("a"));
  PostgresTalk user = server().user();
  user.run("begin");
  EXPECT_EQ(failure_of([&] { postgres::guard(user.handle(), guard); }).code, Errc::lost);
}

TEST_F(PostgresForceRelease, ComesBackUntilALockedRowIsFree) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  PostgresTalk other(server().owner_url());
  other.run("begin; select from mortise.lock for update");
  Client administrator(server().owner_url());
  administrator.check(patience);
  const Failure busy =
      failure_of([&] { static_cast<void>(administrator.force_release("a", {.wait = 300ms})); });
  EXPECT_EQ(busy.code, Errc::in_doubt);
  EXPECT_THAT(busy.text, HasSubstr("another transaction has the row"));
  EXPECT_TRUE(is_held("a"));
  auto ended = std::async(std::launch::async, [&] { return force("a"); });
  EXPECT_FALSE(comes_within(ended, 100ms));
  other.run("rollback");
  ASSERT_TRUE(comes(ended));
  EXPECT_TRUE(ended.get());
}

}  // namespace
}  // namespace mortise::fault
