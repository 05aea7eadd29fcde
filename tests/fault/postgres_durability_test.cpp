// SPDX-License-Identifier: MIT
// Goal: what was granted and renewed is on disk before anybody believes it, whatever the role's
// default is; a release that a crash has undone costs the lease, and no token is given twice (S1,
// S2, A3). Method: servers that write their log late and are killed right after a commit, standbys
// that are promoted, a dump that is restored.
#include "fault/postgres_fixture.hpp"
#include "support/postgres_programs.hpp"

#include <string>
#include <string_view>

namespace mortise::fault {
namespace {

// What no commit waits for stays in memory until the next flush, so that a kill can lose it.
const PostgresServerOptions writes_late{.settings = {"wal_writer_delay = 10s"}};

class PostgresDurability : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (!IsSkipped()) server(writes_late).talk().run("create table marker (i int)");
  }
  /// Commits without waiting for the log. Whether it survives tells what a kill can lose.
  void mark() {
    server().talk().run("set synchronous_commit = off; insert into marker values (1)");
  }
  [[nodiscard]] bool marker_is_lost() { return see("select count(*) from marker") == "0"; }
  void kill_and_start() {
    server().kill();
    server().start();
  }
};

TEST_F(PostgresDurability, AGrantSurvivesAKillThoughTheRoleCommitsAsynchronously) {
  server().talk().run("alter role shop set synchronous_commit = off");
  bool could_lose = false;
  for (int round = 0; round < 5; ++round) {
    Client mine = client();
    Client other = client();
    Lock lock = mine.make_lock("a" + std::to_string(round), {.lease = 20s, .renew = false});
    lock.lock();
    mark();
    kill_and_start();
    could_lose = could_lose || marker_is_lost();
    EXPECT_TRUE(is_held(lock.name())) << "the grant of round " << round << " is gone";
    EXPECT_FALSE(other.make_lock(lock.name()).try_lock());
    server().talk().run("delete from marker");
  }
  EXPECT_TRUE(could_lose) << "nothing was lost that could be, which proves nothing";
}

TEST_F(PostgresDurability, ARenewalSurvivesAKillThoughTheRoleCommitsAsynchronously) {
  server().talk().run("alter role shop set synchronous_commit = off");
  const auto expires = [&] {
    return see(
        "select extract(epoch from expires_at) * 1000000 from mortise.lock"
        " where name = 'a'");
  };
  for (int round = 0; round < 3; ++round) {
    const auto record = std::make_shared<Record>();
    Client mine = client({.observer = record});
    Lock lock = mine.make_lock("a", {.lease = 3s});
    ASSERT_TRUE(lock.try_lock_for(patience));
    ASSERT_TRUE(record->told(Record::Kind::renewed, 1));
    const std::string renewed = expires();
    server().kill();
    server().start();
    // Or it has been renewed once more since.
    EXPECT_GE(std::stold(expires()), std::stold(renewed)) << round;
    lock.unlock();
  }
}

// Others are told of it as soon as it is committed.
// Promise: O3
TEST_F(PostgresDurability, AnOutcomeSurvivesAKillThoughItsTransactionCommitsAsynchronously) {
  bool could_lose = false;
  for (int round = 0; round < 5; ++round) {
    Client mine = client();
    const std::string key = "a" + std::to_string(round);
    mortise::Run run = mine.make_once(key).begin();
    PostgresTalk user = server().user();
    user.run("set synchronous_commit = off");
    user.run("begin");
    postgres::conclude(user.handle(), run, "receipt");
    user.run("commit");
    mark();
    EXPECT_EQ(client().make_once(key).begin().outcome().result(), "receipt");
    kill_and_start();
    could_lose = could_lose || marker_is_lost();
    EXPECT_EQ(client().make_once(key).look().result(), "receipt") << round;
    server().talk().run("delete from marker");
  }
  EXPECT_TRUE(could_lose) << "nothing was lost that could be, which proves nothing";
}

TEST_F(PostgresDurability, AReleaseByForceSurvivesAKillThoughItsSessionCommitsAsynchronously) {
  bool could_lose = false;
  for (int round = 0; round < 5; ++round) {
    Client mine = client();
    Lock lock = mine.make_lock("a" + std::to_string(round), {.lease = 60s, .renew = false});
    lock.lock();
    {
      // By hand: what the library's own session sets would hide what the function does.
      PostgresTalk talk(server().owner_url());
      talk.run("set synchronous_commit = off");
      ASSERT_EQ(talk.value("select count(*) from mortise.force_release(convert_to($1, 'UTF8'))",
                           {lock.name()}),
                "1");
    }
    mark();
    kill_and_start();
    could_lose = could_lose || marker_is_lost();
    EXPECT_FALSE(is_held(lock.name())) << "the hold of round " << round << " is back";
    server().talk().run("delete from marker");
  }
  EXPECT_TRUE(could_lose) << "nothing was lost that could be, which proves nothing";
}

// Several takes share a transaction, and whoever has to wait does not wait for the log.
TEST_F(PostgresDurability, AGrantSurvivesAKillWhoeverSharesItsTransaction) {
  bool could_lose = false;
  for (const char* const order : {"12", "21", "121"}) {
    Client mine = client();
    Lock held = mine.make_lock("held", {.lease = 60s, .renew = false});
    held.lock();
    const std::string free = std::string("free/") + order;
    {
      Lock before = mine.make_lock(free);  // a row, for the plain case
      before.lock();
      before.unlock();
    }
    {
      PostgresTalk talk = server().user();
      talk.run("begin");
      for (const char which : std::string_view(order)) {
        const std::string name = which == '1' ? "held" : free;
        EXPECT_THAT(talk.value("select mortise.take('" + name +
                               "', '\\x01', 60000000, '', 1, '',"
                               " 'infinity')"),
                    Not(IsEmpty()));
      }
      talk.run("commit");
    }
    mark();
    kill_and_start();
    could_lose = could_lose || marker_is_lost();
    server().talk().run("delete from marker");
    EXPECT_TRUE(is_held(free)) << order;
    server().talk().run("update mortise.lock set expires_at = '-infinity'");
  }
  EXPECT_TRUE(could_lose) << "nothing was lost that could be, which proves nothing";
}

// By hand, as behind a pooler: what the library's own session sets would hide what they do.
TEST_F(PostgresDurability, WhatAnySessionIsGrantedAndRenewedSurvivesAKill) {
  bool could_lose = false;
  const auto last_before_a_kill = [&](const std::string& call) {
    {
      PostgresTalk talk = server().user();
      talk.run("set synchronous_commit = off");
      EXPECT_THAT(talk.value("select mortise." + call), Not(IsEmpty()));
    }
    mark();
    kill_and_start();
    could_lose = could_lose || marker_is_lost();
    server().talk().run("delete from marker");
  };
  for (const std::string name : {"a", "b", "c"}) {
    last_before_a_kill("take('" + name + "', '\\x01', 60000000, '', 0, '', 'infinity')");
    EXPECT_TRUE(is_held(name)) << "its first grant is gone";
    server().talk().run("update mortise.lock set expires_at = '-infinity'");
    last_before_a_kill("take('" + name + "', '\\x02', 60000000, '', 0, '', 'infinity')");
    EXPECT_TRUE(is_held(name)) << "its second grant is gone";
    last_before_a_kill("renew('{" + name + "}', '{\\\\x02}', '{" + std::to_string(number(name)) +
                       "}', '{120000000}')");
    EXPECT_EQ(see("select lease from mortise.lock where name = '" + name + "'"), "120000000");
  }
  EXPECT_TRUE(could_lose) << "nothing was lost that could be, which proves nothing";
}

TEST_F(PostgresDurability, ACrashRightAfterAReleaseCostsItsLeaseAndNoToken) {
  int undone = 0;
  Token last;
  for (int round = 0; round < 5; ++round) {
    Client mine = client();
    Lock lock = mine.make_lock("a", {.lease = 1s});
    test::OwnTimeLimit limit(1s + 1s + 2s, patience);
    ASSERT_TRUE(lock.try_lock_for(patience));
    EXPECT_GT(lock.token(), last) << round;
    last = lock.token();
    ASSERT_EQ(lock.release(), Released::released);
    kill_and_start();
    undone += is_held("a") ? 1 : 0;
    EXPECT_GE(number("a"), grant_of(last)) << "a grant was forgotten";
    // No later than by the lease, however the crash found the release.
    Client other = client();
    Lock next = other.make_lock("a");
    ASSERT_TRUE(next.try_lock_for(patience)) << round;
    EXPECT_FALSE(limit.is_over()) << round;
    EXPECT_GT(next.token(), last) << round;
    last = next.token();
    next.unlock();
  }
  // The releases of the library commit asynchronously: that is what this test is about.
  EXPECT_GT(undone, 0) << "no release was undone: is each of them flushed?";
}

// Promise: S2
TEST_F(PostgresDurability, TokensGrowOverTheLossOfAPrimary) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 1s, .renew = false});
  lock.lock();
  PostgresServer standby({.standby_of = &server()});
  // The standby is cut off: it does not see the next grants.
  standby.talk().run("alter system set primary_conninfo = ''");
  standby.talk().run("select pg_reload_conf()");
  ASSERT_TRUE(eventually([&] { return see("select count(*) from pg_stat_replication") == "0"; }));
  lock.unlock();
  Token last;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(lock.try_lock_for(patience));
    last = lock.token();
    lock.unlock();
  }
  EXPECT_LT(std::stoull(standby.talk().value("select number from mortise.lock")), grant_of(last));
  server().kill();
  standby.promote();
  Client after(standby.url());
  Lock next = after.make_lock("a");
  ASSERT_TRUE(taken_within(next, 1s + 1s));
  EXPECT_GT(next.token(), last) << "a token was given on both sides";
  next.unlock();
}

TEST_F(PostgresDurability, AStandbyRefusesUntilItIsPromotedAndThenServes) {
  PostgresServer standby({.standby_of = &server()});
  Client mine(standby.url());
  Lock lock = mine.make_lock("a", {.lease = 6s});
  const Failure failure = failure_of([&] { EXPECT_FALSE(lock.try_lock_for(300ms)); });
  EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
  EXPECT_THAT(failure.text,
              AnyOf(HasSubstr("standby"), HasSubstr("recovery"), HasSubstr("read-only")));
  server().shutdown();
  standby.promote();
  EXPECT_TRUE(lock.try_lock_for(patience)) << "the client does not find out";
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(PostgresDurability, TokensGrowOverADumpThatIsRestored) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  const Token last = lock.token();
  lock.unlock();
  const model::TemporaryDirectory directory;
  const std::string dump = directory.file("dump");
  const std::string script = "'" + test::postgres_program("pg_dump") + "' -h " +
                             server().socket_folder() + " -p " + std::to_string(server().port()) +
                             " -U postgres shop >" + dump;
  ASSERT_EQ(std::system(script.c_str()), 0);
  const PostgresServer other;
  const std::string restore = "'" + test::postgres_program("psql") + "' -q -v ON_ERROR_STOP=1 -h " +
                              other.socket_folder() + " -p " + std::to_string(other.port()) +
                              " -U postgres -d shop -f " + dump + " >/dev/null";
  ASSERT_EQ(std::system(restore.c_str()), 0);
  Client there(other.url());
  Lock same = there.make_lock("a");
  ASSERT_TRUE(same.try_lock());
  EXPECT_GT(same.token(), last);
  same.unlock();
}

}  // namespace
}  // namespace mortise::fault
