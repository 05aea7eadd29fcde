// SPDX-License-Identifier: MIT
// Goal: whoever does not know what has become of an outcome is told so, and nobody is told that
// nothing is recorded where something is; who does know is not told of doubts. Method: commits of
// which the answer is lost, behind a pooler and before a standby that is gone; requests that a
// proxy keeps.
#include "fault/postgres_lost_standby.hpp"
#include "support/pgbouncer.hpp"

#include <future>
#include <string>
#include <thread>

namespace mortise::fault {
namespace {

class PostgresDoubts : public PostgresLostStandby {
 protected:
  void SetUp() override {
    PostgresLostStandby::SetUp();
    if (IsSkipped()) return;
    server().talk().run(
        "create table orders (charged int); insert into orders values (0);"
        "grant all on orders to shop");
  }
  [[nodiscard]] mortise::Outcome look() {
    Client other = client();
    return other.make_once("a").look();
  }
  static void charge(PostgresTalk& user) {
    user.run("begin");
    user.run("update orders set charged = charged + 1");
  }
  /// Ends the processes whose commits wait for the standby. The commits stand all the same.
  void terminate_waits() {
    server().talk().rows(std::string("select pg_terminate_backend(pid) from (") + committing +
                         ") as c");
  }
  /// The answer to the commit is lost between the server and a pooler, which says so in words.
  template <class Commit>
  Failure lose_a_commit(const std::string& url, Commit commit) {
    PostgresTalk user(url);
    charge(user);
    lose_standby();
    auto failure =
        std::async(std::launch::async, [&] { return failure_of([&] { commit(user.handle()); }); });
    EXPECT_TRUE(eventually([&] { return is_committing(); }));
    terminate_waits();
    EXPECT_TRUE(comes(failure));
    find_standby();
    EXPECT_EQ(see("select charged from orders"), "1") << "it is not what this test is about";
    return failure.get();
  }
};

// Promise: O2
TEST_F(PostgresDoubts, ACommitWhoseAnswerAPoolerHasLostIsInDoubt) {
  MORTISE_NEEDS_PGBOUNCER();
  const test::Pgbouncer pooler(server());
  Client mine = client();
  mortise::Run run = mine.make_once("a").begin();
  const Failure failure = lose_a_commit(pooler.url(), [&](pg_conn* connection) {
    static_cast<void>(postgres::commit(connection, run, "receipt"));
  });
  EXPECT_EQ(failure.code, Errc::in_doubt) << failure.text;
  EXPECT_FALSE(run);
  EXPECT_EQ(look().result(), "receipt");
}

TEST_F(PostgresDoubts, SoIsThatOfATransactionWithAGuard) {
  MORTISE_NEEDS_PGBOUNCER();
  const test::Pgbouncer pooler(server());
  Client mine = client();
  Lock lock = mine.make_lock("a");
  const Guard guard(lock);
  const Failure failure = lose_a_commit(
      pooler.url(), [&](pg_conn* connection) { postgres::commit(connection, guard); });
  EXPECT_EQ(failure.code, Errc::in_doubt) << failure.text;
}

// The transaction knows that it is committed, whatever the library hears of its own statement.
// Promise: O1
TEST_F(PostgresDoubts, WhatIsCommittedIsTheOutcomeAlsoWhereItsConfirmationIsLost) {
  Proxy proxy(server().port(), {.protocol = test::ProxyProtocol::postgres});
  Client mine(PostgresServer::url_by(proxy.port()));
  PostgresTalk user = server().user();
  mortise::Outcome outcome;
  const Failure failure = failure_of([&] {
    outcome = mine.make_once("a", {.lease = 3s}).run([&](mortise::Run& run) {
      charge(user);
      proxy.blackhole(true);
      EXPECT_EQ(postgres::commit(user.handle(), run, "receipt").result(), "receipt");
      EXPECT_EQ(run.outcome().result(), "receipt");
    });
  });
  EXPECT_EQ(failure.code, std::error_code()) << failure.text;
  EXPECT_EQ(outcome.result(), "receipt");
  proxy.heal();
}

// It is recorded at a moment, and somebody may have seen it.
// Promise: O1
TEST_F(PostgresDoubts, AnOutcomeThatWasReplacedWhileItsCommitWasInDoubtIsNotSaidToBeLost) {
  Proxy proxy(server().port(), {.protocol = test::ProxyProtocol::postgres});
  Client mine(PostgresServer::url_by(proxy.port()));
  mortise::Run run = mine.make_once("a", {.lease = 60s}).begin();
  ASSERT_NO_FATAL_FAILURE(lose_standby());
  std::error_code error;
  auto told = std::async(std::launch::async, [&] { return run.fail("no", error); });
  ASSERT_TRUE(eventually([&] { return is_committing(); }));
  proxy.hold_requests(true);
  ASSERT_GT(cancel_waits(), 0U);
  ASSERT_TRUE(eventually([&] { return look().reason() == "no"; }));
  find_standby();
  Client other = client();
  mortise::Run next = other.make_once("a").begin();
  ASSERT_EQ(next.number(), 2U);
  proxy.hold_requests(false);
  proxy.release_held();
  const mortise::Outcome outcome = told.get();
  EXPECT_FALSE(outcome.lost());
  EXPECT_EQ(error, Errc::in_doubt);
  EXPECT_TRUE(next);
}

// The first copy has said that others wait; of that answer nothing is heard.
TEST_F(PostgresDoubts, WhoWaitsIsToldOfAnOutcomeWhoseCommitWasInDoubt) {
  Client mine = client();
  mortise::Run run = mine.make_once("a", {.lease = 60s}).begin();
  server().talk().run("update mortise.run set waiters_until = 'infinity'");
  PostgresTalk waiter = server().talk();
  waiter.run("listen mortise");
  ASSERT_NO_FATAL_FAILURE(lose_standby());
  auto told = std::async(std::launch::async, [&] { return run.succeed("receipt"); });
  ASSERT_TRUE(eventually([&] { return is_committing(); }));
  ASSERT_GT(cancel_waits(), 0U);
  find_standby();
  EXPECT_EQ(told.get().result(), "receipt");
  EXPECT_EQ(waiter.notification(patience), "key 61");
}

// What forget() has found is a run that was pending; what that recorded since stays, also where
// the server comes to it late.
// Promise: O3
TEST_F(PostgresDoubts, ALateRequestToForgetAPendingRunForgetsNoOutcome) {
  Proxy proxy(server().port(), {.protocol = test::ProxyProtocol::postgres});
  Client mine = client();
  mortise::Run run = mine.make_once("a", {.lease = 60s}).begin();
  PostgresTalk user = server().user();
  charge(user);
  postgres::conclude(user.handle(), run, "receipt");
  server().talk().run("update mortise.run set expires_at = clock_timestamp()");
  Client other(PostgresServer::url_by(proxy.port()));
  EXPECT_EQ(other.make_once("a").look().state(), KeyState::pending);
  auto forgotten = std::async(std::launch::async, [&] {
    return failure_of([&] { static_cast<void>(other.make_once("a").forget()); });
  });
  std::this_thread::sleep_for(100ms);  // the transaction has the key: it asks again and again
  proxy.hold_requests(true);
  EXPECT_EQ(forgotten.get().code, Errc::in_doubt);
  user.run("commit");
  EXPECT_EQ(look().result(), "receipt");
  ASSERT_GT(proxy.held(), 0U);
  proxy.hold_requests(false);
  proxy.release_held();
  ASSERT_TRUE(eventually([&] { return proxy.held() == 0; }));
  other.close();
  EXPECT_EQ(look().result(), "receipt");
}

}  // namespace
}  // namespace mortise::fault
