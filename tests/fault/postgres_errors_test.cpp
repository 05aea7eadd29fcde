// SPDX-License-Identifier: MIT
// Goal: whatever keeps a PostgreSQL from serving locks has its code and its words, at once where
// waiting cannot help, and no password in it; and who may wait is served when it is over. Method:
// servers that are set up wrongly, full, or read-only.
#include "fault/postgres_fixture.hpp"
#include "support/certificates.hpp"
#include "support/pgbouncer.hpp"

#include <atomic>
#include <deque>
#include <future>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace mortise::fault {
namespace {

using test::PostgresRow;

class PostgresErrors : public PostgresTest {
 protected:
  /// A try, and a call that would wait, end with this code and these words, without the password.
  void expect_at_once(const std::string& url, Errc code, const std::string& words) {
    for (const bool waits : {false, true}) {
      Client mine(url);
      Lock lock = mine.make_lock("a");
      Failure failure;
      EXPECT_LT(own_duration_of([&] {
                  failure =
                      failure_of([&] { waits ? lock.lock() : static_cast<void>(lock.try_lock()); });
                }),
                2s);
      EXPECT_EQ(failure.code, code) << failure.text;
      EXPECT_THAT(failure.text, HasSubstr(words));
      EXPECT_THAT(failure.text, Not(HasSubstr(test::postgres_password)));
    }
    Client mine(url);
    const Failure checked = failure_of([&] { mine.check(patience); });
    EXPECT_EQ(checked.code, code) << checked.text;
    EXPECT_THAT(checked.text, HasSubstr(words));
    EXPECT_THAT(checked.text, Not(HasSubstr(test::postgres_password)));
  }
  static std::string with(std::string url, const std::string& from, const std::string& to) {
    return url.replace(url.rfind(from), from.size(), to);
  }
};

TEST_F(PostgresErrors, AWrongPasswordIsDenied) {
  const std::string url = with(server().url(), test::postgres_password, "not-the-word");
  expect_at_once(url, Errc::denied, "password");
  EXPECT_THAT(failure_of([&] { Client(url).check(patience); }).text,
              Not(HasSubstr("not-the-word")));
}

TEST_F(PostgresErrors, AChangedPasswordIsTheReasonOfALoss) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.make_lock("a", {.lease = 2'500ms});
  lock.lock();
  server().talk().run("alter role shop password 'another'");
  terminate_all();
  ASSERT_TRUE(record->told(Record::Kind::lost, 1));
  for (const Record::Kind kind : {Record::Kind::failed, Record::Kind::lost}) {
    ASSERT_GE(record->count(kind), 1U);
    EXPECT_THAT(record->all(kind).back().why.text, HasSubstr("password authentication failed"));
  }
  EXPECT_EQ(record->all(Record::Kind::failed).back().why.code, Errc::denied);
  EXPECT_LE(record->count(Record::Kind::failed), 5U) << "once a second for each kind of failure";
}

TEST_F(PostgresErrors, AHostThatIsNotLetInIsDenied) {
  static_cast<void>(server({.access = {"host all shop 127.0.0.1/32 reject"}}));
  expect_at_once(server().url(), Errc::denied, "pg_hba.conf");
}

TEST_F(PostgresErrors, AMissingDatabaseIsMisconfigured) {
  expect_at_once(with(server().url(), "/shop", "/no_such_base"), Errc::misconfigured,
                 "no_such_base");
}

TEST_F(PostgresErrors, AMissingSchemaIsMisconfigured) {
  expect_at_once(server().url() + "?mortise.schema=nowhere", Errc::misconfigured, "nowhere");
}

TEST_F(PostgresErrors, MissingRightsAreDenied) {
  server().talk().run("revoke all on all functions in schema mortise from shop, public");
  expect_at_once(server().url(), Errc::denied, "permission");
}

TEST_F(PostgresErrors, RightsThatAreTakenAwayAreDeniedAndComeBack) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  lock.unlock();
  server().talk().run("revoke usage on schema mortise from shop");
  const Failure failure = failure_of([&] { static_cast<void>(lock.try_lock()); });
  EXPECT_EQ(failure.code, Errc::denied) << failure.text;
  server().talk().run("grant usage on schema mortise to shop");
  EXPECT_TRUE(lock.try_lock_for(patience));
  lock.unlock();
}

TEST_F(PostgresErrors, AnUnloggedTableIsMisconfigured) {
  for (const std::string table : {"lock", "run", "once", "run_floor"}) {
    server().talk().run("alter table mortise." + table + " set unlogged");
    expect_at_once(server().url(), Errc::misconfigured, "unlogged");
    server().talk().run("alter table mortise." + table + " set logged");
  }
  client().check(patience);
}

TEST_F(PostgresErrors, ADroppedTableIsMisconfiguredAlsoForWhoIsConnected) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  lock.unlock();
  server().talk().run("drop schema mortise cascade");
  const Failure failure = failure_of([&] { static_cast<void>(lock.try_lock()); });
  EXPECT_EQ(failure.code, Errc::misconfigured) << failure.text;
}

TEST_F(PostgresErrors, NobodyThereIsUnavailable) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  server().shutdown();
  Failure failure;
  EXPECT_LT(
      duration_of([&] { failure = failure_of([&] { EXPECT_FALSE(lock.try_lock_for(300ms)); }); }),
      300ms + allowance + slack);
  EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr(std::to_string(server().port())));
  EXPECT_THAT(failure.text, Not(HasSubstr(test::postgres_password)));
  server().start();
  EXPECT_TRUE(lock.try_lock_for(patience));
  lock.unlock();
}

TEST_F(PostgresErrors, AReadOnlyServerIsUnavailableUntilItIsNot) {
  server().talk().run("alter system set default_transaction_read_only = on");
  server().talk().run("select pg_reload_conf()");
  ASSERT_TRUE(
      eventually([&] { return server().user().value("show transaction_read_only") == "on"; }));
  Client mine = client();
  Lock lock = mine.make_lock("a");
  const Failure failure = failure_of([&] { EXPECT_FALSE(lock.try_lock_for(500ms)); });
  EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("read-only"));
  server().talk().run("alter system reset default_transaction_read_only");
  server().talk().run("select pg_reload_conf()");
  EXPECT_TRUE(lock.try_lock_for(patience));
  lock.unlock();
}

TEST_F(PostgresErrors, TooManyConnectionsIsExhaustedAndPasses) {
  // Of six, three are kept for superusers.
  static_cast<void>(
      server({.settings = {"max_connections = 6", "max_wal_senders = 0", "autovacuum = off"}}));
  std::vector<PostgresTalk> others;
  while (others.size() < 6) {
    try {
      others.push_back(server().user());
    } catch (const PostgresTalkError&) {
      break;
    }
  }
  ASSERT_LT(others.size(), 6U);
  Client mine = client();
  Lock lock = mine.make_lock("a");
  const Failure failure = failure_of([&] { EXPECT_FALSE(lock.try_lock_for(300ms)); });
  EXPECT_EQ(failure.code, Errc::exhausted) << failure.text;
  Party waits(client(), "b");
  auto served = waits.start();
  ASSERT_TRUE(waits.worker().falls_asleep());
  others.clear();
  EXPECT_TRUE(comes(served)) << "who waits does not find out";
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(waits.release(), Released::released);
}

TEST_F(PostgresErrors, ANameThatNobodyResolvesKeepsTheTimeOfItsCall) {
  Client mine("postgresql://shop:open-sesame@no-such-host.invalid/shop");
  Lock lock = mine.make_lock("a");
  Failure failure;
  EXPECT_LT(
      duration_of([&] { failure = failure_of([&] { EXPECT_FALSE(lock.try_lock_for(300ms)); }); }),
      300ms + allowance + slack);
  EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
  EXPECT_THAT(failure.text, Not(HasSubstr("open-sesame")));
}

TEST_F(PostgresErrors, AHostThatNeverAnswersKeepsTheTimeOfItsCall) {
  Proxy proxy(server().port(), {.protocol = test::ProxyProtocol::postgres});
  proxy.blackhole(true);
  Client mine(PostgresServer::url_by(proxy.port()));
  Lock lock = mine.make_lock("a");
  for (int round = 0; round < 3; ++round) {
    Failure failure;
    EXPECT_LT(
        duration_of([&] { failure = failure_of([&] { EXPECT_FALSE(lock.try_lock_for(300ms)); }); }),
        300ms + allowance + slack);
    EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
  }
  proxy.blackhole(false);
  EXPECT_TRUE(lock.try_lock_for(patience));
  lock.unlock();
}

TEST_F(PostgresErrors, AStatementTimeOutOfTheRoleIsNoError) {
  // Far longer than any statement of the library takes, since none waits for a lock.
  server().talk().run("alter role shop set statement_timeout = '1s'");
  server().talk().run("alter role shop set lock_timeout = '1ms'");
  server().talk().run("alter role shop set default_transaction_isolation = 'serializable'");
  Client mine = client();
  Client other = client();
  Lock lock = mine.make_lock("a");
  Lock same = other.make_lock("a");
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(lock.try_lock());
    EXPECT_FALSE(same.try_lock());
    EXPECT_EQ(lock.release(), Released::released);
  }
}

TEST_F(PostgresErrors, APoolWithoutASessionLeftIsUnavailableAndPasses) {
  MORTISE_NEEDS_PGBOUNCER();
  const test::Pgbouncer pooler(server(), {.pool_size = 1});
  // Somebody's transaction has the only session.
  PostgresTalk somebody(pooler.url());
  somebody.run("begin");
  Client mine(pooler.url());
  Lock lock = mine.make_lock("a", {.lease = 6s});
  Failure failure;
  EXPECT_LT(
      duration_of([&] { failure = failure_of([&] { EXPECT_FALSE(lock.try_lock_for(300ms)); }); }),
      300ms + allowance + slack);
  EXPECT_TRUE(is_retryable(failure.code)) << failure.text;
  somebody.run("commit");
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_FALSE(is_held("a"));
}

// It has one state for all that it says, 08P01.
TEST_F(PostgresErrors, APoolerThatIsFullIsExhaustedAndPasses) {
  MORTISE_NEEDS_PGBOUNCER();
  const test::Pgbouncer pooler(server(), {.max_clients = 1});
  std::optional<PostgresTalk> somebody(pooler.url());
  Client mine(pooler.url());
  Lock lock = mine.make_lock("a");
  const Failure failure = failure_of([&] { EXPECT_FALSE(lock.try_lock_for(300ms)); });
  EXPECT_EQ(failure.code, Errc::exhausted) << failure.text;
  EXPECT_TRUE(is_retryable(failure.code));
  EXPECT_THAT(failure.text, HasSubstr("max_client_conn"));
  mine.close();  // it would take the only place
  Party waits(Client(pooler.url()), "b");
  auto served = waits.start();
  ASSERT_TRUE(waits.worker().falls_asleep());
  somebody.reset();
  EXPECT_TRUE(comes(served)) << "who waits does not find out";
  EXPECT_EQ(waits.release(), Released::released);
}

TEST_F(PostgresErrors, APoolerThatNeverWillSaysSoAtOnce) {
  MORTISE_NEEDS_PGBOUNCER();
  const test::Pgbouncer pooler(server());
  expect_at_once(with(pooler.url(), "/shop", "/no_such_base"), Errc::misconfigured, "no_such_base");
  // The name of the database is in the words, and means nothing there.
  expect_at_once(with(pooler.url(), "/shop", "/memory"), Errc::misconfigured, "memory");
  expect_at_once(with(pooler.url(), test::postgres_password, "not-the-word"), Errc::denied, "");
  expect_at_once(pooler.url() + "?options=-c%20geqo%3Doff", Errc::misconfigured, "options");
}

// The library takes its rights one by one: what check() does not ask for is missed later.
TEST_F(PostgresErrors, EachMissingRightIsToldByTheCheck) {
  client().check(patience);
  const auto revoked = [&](const std::string& right) {
    server().talk().run("revoke " + right + " from shop, public");
    const Failure failure = failure_of([&] { client().check(patience); });
    server().talk().run("grant " + right + " to shop");
    EXPECT_EQ(failure.code, Errc::denied) << right << ": " << failure.text;
    return failure.text;
  };
  // What revoke and grant do to them is the same for all.
  for (const PostgresRow& each : server().talk().rows(
           "select proname, p.oid::regprocedure from pg_proc as p, aclexplode(proacl)"
           " where pronamespace = 'mortise'::regnamespace and grantee = 'shop'::regrole")) {
    EXPECT_THAT(revoked("execute on function " + each[1]), HasSubstr(each[0]));
  }
  for (const PostgresRow& each : server().talk().rows(
           "select relname from pg_class, aclexplode(relacl)"
           " where relnamespace = 'mortise'::regnamespace and grantee = 'shop'::regrole")) {
    EXPECT_THAT(revoked("select on mortise." + each[0]), HasSubstr(each[0]));
  }
  client().check(patience);
  server().talk().run("revoke update on mortise.lock from shop_owner");
  const Failure failure = failure_of([&] { client().check(patience); });
  EXPECT_EQ(failure.code, Errc::denied) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("UPDATE ON mortise.lock for the owner"));
}

TEST_F(PostgresErrors, ACheckThatSucceedsIsFollowedByLocksOfEveryKind) {
  Client mine = client();
  mine.check(patience);
  EXPECT_TRUE(mine.make_lock("a").try_lock());
  EXPECT_TRUE(mine.make_read_write_lock("b").try_lock_shared());
  EXPECT_TRUE(mine.make_semaphore("c", 2).try_acquire());
  EXPECT_TRUE(mine.make_once("d").begin());
}

TEST_F(PostgresErrors, AFullDiskFailsTheCheckAsItFailsALock) {
  client().check(patience);
  server().talk().run(
      "create function public.full() returns trigger language plpgsql as"
      " $$begin raise 'no space left on device' using errcode = 'disk_full'; end$$;"
      "create trigger full_disk before insert or update on mortise.lock"
      " for each row execute function public.full()");
  Client mine = client();
  const Failure refused = failure_of([&] { mine.make_lock("a").lock(); });
  EXPECT_EQ(refused.code, Errc::exhausted) << refused.text;
  const Failure checked = failure_of([&] { mine.check(patience); });
  EXPECT_EQ(checked.code, Errc::exhausted) << checked.text;
  server().talk().run("drop trigger full_disk on mortise.lock");
  mine.check(patience);
}

// A load balancer asks all copies of a service, and each write takes the time of a far standby.
// All checks write one row, which the test locks as another check does. No check waits for the row:
// each asks whether another check has written it.
TEST_F(PostgresErrors, ManyChecksAtOnceDoNotWaitForEachOther) {
  constexpr int many = 20;
  std::deque<Client> all;
  for (int i = 0; i < many; ++i) all.push_back(client());
  for (Client& each : all) each.check(patience);
  PostgresTalk first = server().talk();
  first.run("begin; update mortise.lock set number = number + 1 where name = ''");
  const std::string since = first.value("select clock_timestamp()");
  std::atomic<int> failed{0};
  std::vector<std::thread> probes;
  for (Client& each : all) {
    probes.emplace_back([&] {
      std::error_code ec;
      each.check(patience, ec);
      if (ec) ++failed;
    });
  }
  PostgresTalk looks = server().talk();
  EXPECT_TRUE(eventually([&] {
    return std::stoi(looks.value("select count(*) from pg_stat_activity where state = 'idle' and"
                                 " query_start > $1::timestamptz",
                                 {since})) >= many;
  })) << "not every check has looked whether the row was written";
  first.run("commit");
  for (std::thread& each : probes) each.join();
  EXPECT_EQ(failed, 0);
}

TEST_F(PostgresErrors, SettingsThatTheServerRefusesAreMisconfigured) {
  for (const char* const options :
       {"-c%20no_such_setting%3D1", "-c%20geqo%3Dperhaps", "nonsense"}) {
    expect_at_once(server().url() + "?options=" + options, Errc::misconfigured, "");
  }
}

TEST_F(PostgresErrors, AServerWithoutTlsThatHasToHaveItIsMisconfigured) {
  expect_at_once(server().url() + "?sslmode=require", Errc::misconfigured, "SSL");
}

TEST_F(PostgresErrors, FilesForTlsThatAreNotThereAreMisconfigured) {
  const test::Certificates files;
  static_cast<void>(
      server({.tls = PostgresServerOptions::Tls::server_certificate, .certificates = &files}));
  const std::string plain = PostgresServer::url_by(server().port());
  expect_at_once(plain + "?sslmode=verify-full&sslrootcert=/nowhere/ca.pem", Errc::misconfigured,
                 "/nowhere/ca.pem");
  expect_at_once(plain + "?sslmode=require&sslcert=" + files.client_certificate() +
                     "&sslkey=/nowhere/client.key",
                 Errc::misconfigured, "/nowhere/client.key");
  expect_at_once(plain + "?sslmode=verify-full&sslrootcert=" + files.server_key(),
                 Errc::misconfigured, files.server_key());
  const Failure migrated = failure_of([&] {
    postgres::migrate(PostgresServer::url_by(server().port(), test::postgres_owner) +
                      "?sslmode=verify-full&sslrootcert=/nowhere/ca.pem");
  });
  EXPECT_EQ(migrated.code, Errc::misconfigured) << migrated.text;
}

TEST_F(PostgresErrors, APasswordThatIsNotKnownIsDenied) {
  std::string url = server().url() + "?passfile=/nowhere/pgpass";
  url.erase(url.find(':', url.find("//")), 1 + std::string(test::postgres_password).size());
  expect_at_once(url, Errc::denied, "password");
}

// It tells of that in words of its own, with a state that says nothing.
TEST_F(PostgresErrors, ACommitWhoseServerThePoolerHasLostIsInDoubt) {
  MORTISE_NEEDS_PGBOUNCER();
  const test::Pgbouncer pooler(server());
  server().talk().run(R"(
    create table slow (id int); grant all on slow to shop;
    create function slowly() returns trigger language plpgsql as
      'begin perform pg_sleep(60); return null; end';
    create constraint trigger slowly after insert on slow deferrable initially deferred
      for each row execute function slowly())");
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 60s});
  const Guard guard(lock);
  PostgresTalk user(pooler.url());
  user.run("begin; insert into slow values (1)");
  auto told = std::async(std::launch::async, [&] {
    return failure_of([&] { postgres::commit(user.handle(), guard); });
  });
  ASSERT_TRUE(eventually([&] {
    return see("select count(*) from pg_stat_activity where wait_event = 'PgSleep'") == "1";
  }));
  server().kill();
  const Failure failure = told.get();
  EXPECT_EQ(failure.code, Errc::in_doubt) << failure.text;
}

}  // namespace
}  // namespace mortise::fault
