// SPDX-License-Identifier: MIT
// Goal: a hold of another store, database or schema cannot be tied to a transaction, and the
// message says which store it is in: `lost` would have its caller try again for ever. Method: the
// same names and keys in two databases, two schemas, two clusters and in memory, at each isolation
// level.
#include <mortise/memory.hpp>

#include "fault/postgres_transactions.hpp"

#include <string>

namespace mortise::fault {
namespace {

class PostgresOtherStore : public PostgresTransactions {
 protected:
  void SetUp() override {
    PostgresTransactions::SetUp();
    if (IsSkipped()) return;
    server().talk().run("drop database if exists elsewhere");
    server().talk().run("create database elsewhere");
  }
  void TearDown() override {
    if (!IsSkipped()) server().talk().run("drop database if exists elsewhere with (force)");
  }
  /// @return a connection to the other database, with an open transaction.
  [[nodiscard]] PostgresTalk elsewhere() {
    PostgresTalk talk = server().talk("elsewhere");
    talk.run(begin());
    return talk;
  }
  /// Gives the other database the same schema, with the same name and key.
  void make_elsewhere() {
    const std::string url = at_elsewhere(server().owner_url());
    server().talk().run("grant all on database elsewhere to " + std::string(test::postgres_owner));
    postgres::migrate(url, {.role = "shop"});
    Client mine(at_elsewhere(server().url()));
    Lock lock = mine.make_lock("a");
    lock.lock();
    lock.unlock();
    mine.make_once("a").begin().give_back();
  }
  static std::string at_elsewhere(std::string url) {
    return url.replace(url.rfind("/shop"), 5, "/elsewhere");
  }
  static void expect_misconfigured(const Failure& failure, const std::string& store) {
    EXPECT_EQ(failure.code, Errc::misconfigured) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr("the hold is in " + store));
    EXPECT_THAT(failure.text, Not(HasSubstr(test::postgres_password)));
    EXPECT_THAT(failure.text, Not(HasSubstr("migrate")));
  }
  /// All that ties something to a transaction refuses.
  static void expect_refused(PostgresTalk& user, Client& mine, const std::string& store,
                             const std::string& schema = "mortise") {
    Lock lock = mine.make_lock("a");
    const Guard guard(lock);
    mortise::Run run = mine.make_once("a").begin();
    ASSERT_TRUE(guard);
    ASSERT_TRUE(run);
    pg_conn* const db = user.handle();
    const auto again = [&user] { user.run(std::string("rollback; ") + begin()); };
    expect_misconfigured(failure_of([&] { postgres::guard(db, guard, schema); }), store);
    again();
    expect_misconfigured(failure_of([&] { postgres::commit(db, guard, schema); }), store);
    again();
    expect_misconfigured(failure_of([&] { postgres::conclude(db, run, "x", schema); }), store);
    again();
    expect_misconfigured(failure_of([&] { postgres::commit(db, run, "x", schema); }), store);
    EXPECT_TRUE(run) << "it stays open";
    run.give_back();
  }
  [[nodiscard]] std::string here() {
    return "postgresql 127.0.0.1:" + std::to_string(server().port());
  }
};

TEST_P(PostgresOtherStore, InMemoryIsNamed) {
  PostgresTalk user = server().user();
  user.run(begin());
  Client mine(memory::backend("memory:"));
  expect_refused(user, mine, "memory");
}

TEST_P(PostgresOtherStore, OfAnotherDatabaseIsNamed) {
  make_elsewhere();
  PostgresTalk user = elsewhere();
  Client mine = client();
  expect_refused(user, mine, here());
}

TEST_P(PostgresOtherStore, OfADatabaseWithoutTheSchemaIsNamed) {
  PostgresTalk user = elsewhere();
  Client mine = client();
  expect_refused(user, mine, here());
}

TEST_P(PostgresOtherStore, OfAnotherClusterIsNamed) {
  PostgresServer other;
  postgres::migrate(other.owner_url(), {.role = "shop"});
  // The clusters of tests are copies of one, which have its number.
  PostgresTalk(other.owner_url())
      .run(
          "create or replace function mortise.whereabouts() returns text"
          " language sql as $$select '7077 1'$$");
  PostgresTalk user = other.user();
  user.run(begin());
  Client mine = client();
  expect_refused(user, mine, here());
}

TEST_P(PostgresOtherStore, OfAnotherSchemaIsNamed) {
  postgres::migrate(server().owner_url(), {.schema = "other", .role = "shop"});
  PostgresTalk user = server().user();
  user.run(begin());
  Client mine = client();
  expect_refused(user, mine, here() + "; its schema is mortise, but this call names other",
                 "other");
}

TEST_P(PostgresOtherStore, IsNoneOfTheRightOne) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  const Guard guard(lock);
  mortise::Run run = mine.make_once("a").begin();
  PostgresTalk user = server().user();
  user.run(begin());
  postgres::guard(user.handle(), guard);
  EXPECT_EQ(postgres::commit(user.handle(), run, "x").result(), "x");
  // By the unix socket it is the same database.
  PostgresTalk local(server().socket_url());
  local.run(begin());
  postgres::commit(local.handle(), guard);
}

INSTANTIATE_TEST_SUITE_P(Postgres, PostgresOtherStore, isolation_levels(), isolation_level_of);

}  // namespace
}  // namespace mortise::fault
