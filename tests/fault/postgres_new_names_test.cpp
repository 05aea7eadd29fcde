// SPDX-License-Identifier: MIT
// Goal: the first use of a name waits for nothing that another role can hold, and two who use it
// first at once get along. Method: a role that may only connect holds every advisory lock that the
// schema could ask for; users' transactions insert names and stay open; crowds begin together.
#include "fault/postgres_fixture.hpp"
#include "support/pgbouncer.hpp"

#include <atomic>
#include <cstddef>
#include <future>
#include <string>
#include <vector>

namespace mortise::fault {
namespace {

class PostgresNewNames : public PostgresTest {
 protected:
  /// @return who has no right but to connect, and every advisory lock that a name could stand for.
  [[nodiscard]] PostgresTalk stranger() {
    server().talk().run("create role stranger login password 'x'");
    PostgresTalk talk("postgresql://stranger:x@127.0.0.1:" + std::to_string(server().port()) +
                      "/shop");
    talk.run("select pg_advisory_lock(7077, 1)");
    for (const char* const name : {"a", "b", "c", "d", "e", "f"}) {
      for (const char* const seed : {"0", "7077", "7078", "7079"}) {
        talk.run(std::string("select pg_advisory_lock(hashtextextended(encode('") + name +
                 "'::bytea, 'hex'), " + seed + "))");
      }
    }
    return talk;
  }
  /// Takes the name for the length of an open transaction, which inserts it.
  [[nodiscard]] PostgresTalk taken_in_transaction(const std::string& name) {
    PostgresTalk user = server().user();
    user.run("begin");
    EXPECT_TRUE(postgres::lock_in(user.handle(), name, 1s));
    return user;
  }
  /// Clients use new names first, all at once, and each of them gets each name alone.
  static void expect_crowd_served(const std::string& url, std::size_t names) {
    constexpr std::size_t clients = 4;
    std::vector<std::atomic<int>> inside(names);
    std::vector<std::future<bool>> served;
    for (std::size_t i = 0; i < clients * names; ++i) {
      served.push_back(std::async(std::launch::async, [&inside, &url, i] {
        std::atomic<int>& its = inside[i / clients];
        Client mine(url);
        Lock lock = mine.make_lock("new " + std::to_string(i / clients));
        if (!lock.try_lock_for(patience)) return false;
        EXPECT_EQ(its.fetch_add(1), 0) << "two holders";
        its.fetch_sub(1);
        return lock.release() == Released::released;
      }));
    }
    for (auto& each : served) EXPECT_TRUE(each.get());
  }
};

TEST_F(PostgresNewNames, AreFreeWhateverAStrangerHolds) {
  PostgresTalk talk = stranger();
  Client mine = client();
  Lock lock = mine.make_lock("a");
  EXPECT_TRUE(lock.try_lock());
  EXPECT_TRUE(mine.make_read_write_lock("b").try_lock_shared());
  EXPECT_TRUE(mine.make_semaphore("c", 3).try_acquire());
  mortise::Run run = mine.make_once("d").begin();
  EXPECT_TRUE(run);
  PostgresTalk user = server().user();
  user.run("begin");
  EXPECT_TRUE(postgres::lock_in(user.handle(), "e", 0s));
  // What takes an attempt back before its name has a row.
  EXPECT_EQ(user.value("select mortise.cancel('f', '\\x01', true)"), "B");
  user.run("commit");
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(PostgresNewNames, AreMigratedWhateverAStrangerHolds) {
  PostgresTalk talk = stranger();
  postgres::migrate(server().owner_url(), {.role = "shop"});
  EXPECT_EQ(see("select count(*) from pg_proc where prosrc ~ 'advisory' and pronamespace ="
                " 'mortise'::regnamespace"),
            "0");
}

TEST_F(PostgresNewNames, ThatATransactionInsertsKeepNobodyFromOthers) {
  PostgresTalk user = taken_in_transaction("a");
  Client mine = client();
  Lock lock = mine.make_lock("a");
  Lock other = mine.make_lock("b");
  bool taken = true;
  EXPECT_LT(own_duration_of([&] { taken = lock.try_lock(); }), 1s);
  EXPECT_FALSE(taken);
  Party waits(client(), "a");
  auto served = waits.start();
  ASSERT_TRUE(waits.worker().falls_asleep());
  EXPECT_TRUE(other.try_lock());
  EXPECT_EQ(other.release(), Released::released);
  EXPECT_FALSE(comes_within(served, 100ms));
  user.run("rollback");
  EXPECT_TRUE(comes(served));
  EXPECT_EQ(waits.release(), Released::released);
  EXPECT_GT(number("a"), 0U);
}

TEST_F(PostgresNewNames, OfATransactionAreTakenWhenItCommits) {
  PostgresTalk user = taken_in_transaction("a");
  Party waits(client(), "a");
  auto served = waits.start();
  ASSERT_TRUE(waits.worker().falls_asleep());
  const std::string before = user.value("select number from mortise.lock where name = 'a'");
  user.run("commit");
  ASSERT_TRUE(comes(served));
  EXPECT_GT(grant_of(served.get()), std::stoull(before));
  EXPECT_EQ(waits.release(), Released::released);
}

// Many grants share a transaction, in the order in which they came: two of them may meet crosswise.
TEST_F(PostgresNewNames, ThatMeetCrosswiseAreNoDeadlock) {
  PostgresTalk one = server().user();
  PostgresTalk other = server().user();
  const auto take = [](const std::string& name) {
    return "select mortise.take('" + name + "', '\\x01', 1000000, '', 0, '', 'infinity')";
  };
  one.run("begin");
  other.run("begin");
  EXPECT_THAT(one.value(take("a")), ::testing::MatchesRegex("[0-9]+"));
  EXPECT_THAT(other.value(take("b")), ::testing::MatchesRegex("[0-9]+"));
  auto crossed = std::async(std::launch::async, [&] { return one.value(take("b")); });
  EXPECT_EQ(other.value(take("a")), "L");
  EXPECT_EQ(crossed.get(), "L");
  one.run("commit");
  other.run("commit");
  EXPECT_EQ(see("select count(*) from mortise.lock"), "2");
}

// What else is in the transaction, and behind it on the connection, waits as long.
TEST_F(PostgresNewNames, ThatATransactionInsertsAreWaitedForAllTogether) {
  PostgresTalk inserts = server().user();
  inserts.run(
      "begin; select count(mortise.lock_in(convert_to('new ' || i, 'UTF8'), 1))"
      " from generate_series(1, 60) as i");
  PostgresTalk asks = server().user();
  const auto ask = [&] {
    EXPECT_EQ(
        asks.value(
            "select string_agg(mortise.take(convert_to('new ' || i, 'UTF8'),"
            " '\\x01', 1000000, '', 0, '', 'infinity'), '') from generate_series(1, 60) as i"),
        std::string(60, 'L'));
  };
  EXPECT_LT(least_duration_of(300ms, ask), 300ms);
}

TEST_F(PostgresNewNames, ThatAreNotGotWriteNothing) {
  PostgresTalk inserts = taken_in_transaction("a");
  PostgresTalk asks = server().user();
  for (const char* const call : {"take('a', '\\x01', 1000000, '', 1, '', 'infinity')",
                                 "take('a', '\\x01', -1000000, '\\x01', 1, '', 'infinity')"}) {
    asks.run("begin");
    EXPECT_EQ(asks.value(std::string("select mortise.") + call), "L");
    EXPECT_EQ(asks.value("select txid_current_if_assigned() is null"), "t") << call;
    EXPECT_EQ(asks.value("show lock_timeout"), "50ms") << call;
    asks.run("commit");
  }
}

// The numbers of a key outlive its row: see run_floor.
TEST_F(PostgresNewNames, GetNoNumberFromBeforeTheirRowCameAndWent) {
  PostgresTalk owner(server().owner_url());
  owner.run("alter function mortise.add_row_run set lock_timeout = '10s'");
  PostgresTalk others(server().owner_url());
  others.run(
      "begin; insert into mortise.run (name, number, attempt, lease, expires_at, label)"
      " values ('a', 1, '', 0, '-infinity', '')");
  PostgresTalk user = server().user();
  user.send(
      "do $$ begin if mortise.begin_key('a', '\\x01', 1000000, '', 0, '', 0, 1000000, 'infinity')"
      " <> 'L' then raise 'it runs'; end if; end $$");
  ASSERT_TRUE(
      eventually([&] { return see("select count(*) from pg_locks where not granted") != "0"; }));
  others.run(
      "delete from mortise.run where name = 'a';"
      "update mortise.run_floor set number = 8000000000000000; commit");
  EXPECT_TRUE(user.answered(patience));
  EXPECT_EQ(see("select count(*) from mortise.run"), "0");
  mortise::Run run = client().make_once("a").begin();
  ASSERT_TRUE(run);
  EXPECT_GT(grant_of(run.token()), 8000000000000000U);
}

// Of two that insert in the same instant neither sees the row of the other beforehand. An error
// would end the transaction of other grants as well.
TEST_F(PostgresNewNames, ThatAreInsertedInTheSameInstantAreNoError) {
  constexpr std::size_t sessions_at_once = 4;
  static_cast<void>(server({.settings = {"fsync = off"}}));  // or the disk is all that is tried
  std::vector<PostgresTalk> users;
  for (std::size_t i = 0; i < sessions_at_once; ++i) users.push_back(server().user());
  for (PostgresTalk& each : users) {
    each.send(
        "do $$ begin for i in 1..4000 loop"
        " perform mortise.take(convert_to(floor(extract(epoch from clock_timestamp())"
        " * 20000)::text, 'UTF8'), '\\x01', 1000, '', 0, '', 'infinity');"
        " commit; end loop; end $$");
  }
  for (PostgresTalk& each : users) EXPECT_TRUE(each.answered(patience));
}

TEST_F(PostgresNewNames, AreUsedFirstByManyAtOnce) {
  expect_crowd_served(server().url(), 1);
  expect_crowd_served(server().url() + "?mortise.fair=yes", 5);
}

TEST_F(PostgresNewNames, AreUsedFirstByManyAtOnceBehindAPooler) {
  MORTISE_NEEDS_PGBOUNCER();
  const test::Pgbouncer pooler(server());
  expect_crowd_served(pooler.url(), 1);
  expect_crowd_served(pooler.url() + "?mortise.fair=yes", 5);
}

}  // namespace
}  // namespace mortise::fault
