// SPDX-License-Identifier: MIT
// Goal: an administrator takes a lock from whoever holds it; the holder is told, those who wait are
// served, what a guard ties is kept, and nobody else may do it. Method: the call, beside clients
// and transactions of a real server.
#include "fault/postgres_fixture.hpp"
#include "support/free_port.hpp"

#include <atomic>
#include <optional>
#include <string>

namespace mortise::fault {
namespace {

class PostgresForceRelease : public PostgresTest {
 protected:
  [[nodiscard]] std::optional<Holder> force(const std::string& name,
                                            std::chrono::milliseconds wait = patience) {
    return postgres::force_release(server().owner_url(), name, wait);
  }
  [[nodiscard]] Failure refusal(const std::string& url, const std::string& name,
                                std::chrono::milliseconds wait = patience) {
    return failure_of([&] { postgres::force_release(url, name, wait); });
  }
};

// Promise: S2
TEST_F(PostgresForceRelease, HasTheHolderToldAndTheNextServed) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.make_lock("a", {.lease = 1500ms, .label = "old holder"});
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(comes_to_wait("a"));
  const std::optional<Holder> ended = force("a");
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->label, "old holder");
  EXPECT_EQ(ended->token, lock.token());
  // Woken, not found at its next look: that would come after a second.
  ASSERT_TRUE(comes(served, core::fallback_period / 2));
  EXPECT_GT(served.get(), lock.token());
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, 1500ms));
  EXPECT_TRUE(record->told(Record::Kind::lost, 1));
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_TRUE(is_held("a")) << "the old holder's release took it from the new one";
  EXPECT_EQ(waiter.release(), Released::released);
  EXPECT_FALSE(force("a")) << "it was free";
  EXPECT_EQ(server().talk().value("select count(*) from mortise.force_release('a')"), "0");
  EXPECT_FALSE(force("never locked"));
}

// Whoever tries again and again has taken the lock by the time that it is sent again; whoever waits
// is woken only after that.
// Promise: S3
TEST_F(PostgresForceRelease, LeavesWhoHasTakenTheLockBeforeItIsSentAgain) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 60s, .renew = false, .label = "old holder"});
  lock.lock();
  Client theirs = client();
  Lock next = theirs.make_lock("a", {.lease = 60s});
  ASSERT_FALSE(next.try_lock());
  std::atomic<bool> over{false};
  Worker eager;
  auto said = eager.start([&] {
    const bool took = eventually([&] { return next.try_lock(); });
    EXPECT_TRUE(took && eventually([&] { return over.load(); }));
    return next.release();
  });
  Proxy proxy(server().port(), {.protocol = test::ProxyProtocol::postgres});
  proxy.cut_at(2, Proxy::Moment::reply);
  const std::optional<Holder> ended = postgres::force_release(
      PostgresServer::url_by(proxy.port(), test::postgres_owner), "a", patience);
  EXPECT_FALSE(proxy.cut_is_ahead());
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->label, "old holder");
  over.store(true);
  EXPECT_EQ(said.get(), Released::released) << "the next holder's hold was ended as well";
}

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
  const Failure busy = refusal(server().owner_url(), "a", 300ms);
  EXPECT_EQ(busy.code, Errc::unavailable);
  EXPECT_THAT(busy.text, HasSubstr("another transaction has the row"));
  EXPECT_TRUE(is_held("a"));
  auto ended = std::async(std::launch::async, [&] { return force("a"); });
  EXPECT_FALSE(comes_within(ended, 100ms));
  other.run("rollback");
  ASSERT_TRUE(comes(ended));
  EXPECT_TRUE(ended.get());
}

TEST_F(PostgresForceRelease, NeedsNothingOfItsSession) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  EXPECT_TRUE(postgres::force_release(server().owner_url() + "?mortise.pooled=yes", "a", patience));
  EXPECT_FALSE(is_held("a"));
}

// The runner's late outcome is refused, its waiter runs the key, and both rows are as after its
// death.
TEST_F(PostgresForceRelease, EndsTheRunOfAKeyAndLeavesItPending) {
  Client mine = client();
  Client administrator(server().owner_url());
  const ForceOptions of_key{.wait = patience, .mode = Mode::once};
  Lock lock = mine.make_lock("a", {.lease = 60s});
  lock.lock();
  EXPECT_TRUE(administrator.force_release("a", of_key).empty()) << "nobody runs the key";
  mortise::Run run = mine.make_once("a", {.lease = 1500ms, .label = "old runner"}).begin();
  ASSERT_TRUE(run);
  EXPECT_EQ(server().talk().value("select count(*) from mortise.force_release('a', 0, 0, 7)"), "0");
  Client theirs = client();
  Worker worker;
  auto next = worker.start([&] {
    mortise::Run second = theirs.make_once("a", {.wait = patience}).begin();
    const std::uint64_t number = second ? second.number() : 0;
    second.succeed("second");
    return number;
  });
  ASSERT_TRUE(worker.falls_asleep());
  const std::vector<Holder> ended = administrator.force_release("a", of_key);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended.front().label, "old runner");
  EXPECT_EQ(ended.front().token, run.token());
  EXPECT_EQ(ended.front().mode, Mode::once);
  EXPECT_EQ(next.get(), 2U);
  EXPECT_TRUE(eventually([&] { return run.lost().stop_requested(); }, 1500ms));
  EXPECT_TRUE(run.succeed("first").lost());
  EXPECT_EQ(mine.make_once("a").look().result(), "second");
  EXPECT_EQ(lock.release(), Released::released) << "the lock of that name is something else";
}

TEST_F(PostgresForceRelease, IsNoRightOfApplicationsUntilTheyAreGivenIt) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  const Failure failure = refusal(server().url(), "a");
  EXPECT_EQ(failure.code, Errc::denied);
  EXPECT_THAT(failure.text, HasSubstr("force_release"));
  EXPECT_TRUE(is_held("a"));
  server().talk().run("grant execute on function mortise.force_release to shop");
  EXPECT_TRUE(postgres::force_release(server().url(), "a", patience));
}

TEST_F(PostgresForceRelease, SaysWhyItCannot) {
  EXPECT_EQ(refusal(server().owner_url(), "").code, Errc::misconfigured);
  EXPECT_EQ(refusal("postgresql://h/db?mortise.x=1", "a").code, Errc::misconfigured);
  const std::string nobody = "postgresql://127.0.0.1:" + std::to_string(test::free_port()) + "/db";
  EXPECT_LT(
      own_duration_of([&] { EXPECT_EQ(refusal(nobody, "a", 300ms).code, Errc::unavailable); }),
      300ms + allowance + slack);
  EXPECT_LT(own_duration_of([&] {
              EXPECT_EQ(refusal(nobody, "a", std::chrono::hours(-3'000'000)).code,
                        Errc::unavailable);
            }),
            allowance + slack);
  EXPECT_FALSE(force("never locked", std::chrono::milliseconds::max()));
  postgres::migrate(server().owner_url(), {}, std::chrono::milliseconds::max());
}

}  // namespace
}  // namespace mortise::fault
