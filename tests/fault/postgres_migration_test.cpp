// SPDX-License-Identifier: MIT
// Goal: a migration that is repeated keeps locks and rights under its clients' feet, and never
// replaces a newer schema; and whoever migrates runs no code but its own. Method: migrations again
// and again, and strangers who were there first.
#include "fault/postgres_fixture.hpp"
#include "support/force.hpp"
#include "support/postgres_programs.hpp"

#include <fstream>
#include <future>
#include <sstream>
#include <string>
#include <vector>

namespace mortise::fault {
namespace {

class PostgresMigration : public PostgresTest {
 protected:
  PostgresServer& bare() {
    if (!bare_) bare_.emplace();
    return *bare_;
  }
  /// The role of the application is named only where it is new to the schema.
  void migrate(const std::string& role = {}) {
    postgres::migrate(bare().owner_url(), {.role = role});
  }
  std::string value(const std::string& sql) { return bare().talk().value(sql); }
  /// @return all that the schema is, as pg_dump prints it.
  std::string dump() {
    const model::TemporaryDirectory directory;
    const std::string to = directory.file("dump");
    const std::string script = "'" + test::postgres_program("pg_dump") + "' -s -h " +
                               bare().socket_folder() + " -p " + std::to_string(bare().port()) +
                               " -U postgres shop >" + to;
    EXPECT_EQ(std::system(script.c_str()), 0);
    std::ifstream file(to);
    std::string text;
    for (std::string line; std::getline(file, line);) {
      // Its key is another one each time.
      if (line.find("restrict") == std::string::npos) text += line + "\n";
    }
    return text;
  }
  /// Runs what is installed for psql, as docs/stores/postgresql-running.md says.
  int psql(const std::string& arguments) {
    const std::string command = "'" + test::postgres_program("psql") +
                                "' -q -v ON_ERROR_STOP=1 -d '" + bare().owner_url() + "' " +
                                arguments;
    return std::system(command.c_str());
  }
  /// @return everybody's rights to what is in the schema.
  std::string rights() {
    return value(
        "select string_agg(what, chr(10) order by what) from ("
        " select oid::regclass || ' ' || a::text from pg_class, unnest(relacl) as a"
        "  where relnamespace = 'mortise'::regnamespace and a::text not like 'shop_owner=%'"
        " union all select attrelid::regclass || ' ' || attname || ' ' || a::text"
        "  from pg_attribute, unnest(attacl) as a where attrelid::regclass::text like 'mortise.%'"
        " union all select oid::regprocedure || ' ' || a::text from pg_proc, unnest(proacl) as a"
        "  where pronamespace = 'mortise'::regnamespace) as all_of_them(what)");
  }
  void expect_refused(const std::string& url, const std::string& because) {
    const Failure failure = failure_of([&] { postgres::migrate(url, {.role = "shop"}); });
    EXPECT_EQ(failure.code, Errc::denied) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr(because));
  }
  std::string superuser_url() {
    return "postgresql://postgres@/shop?host=" + bare().socket_folder() +
           "&port=" + std::to_string(bare().port());
  }
  /// Who may make schemas, and is nobody here.
  PostgresTalk stranger() {
    bare().talk().run("grant create on database shop to shop");
    return bare().user();
  }

 private:
  std::optional<PostgresServer> bare_;
};

// A migration locks the schema by its comment: see steps.sql.
TEST_F(PostgresMigration, KeepsTheCommentOfTheSchema) {
  const auto comment = [&] {
    return value("select obj_description('mortise'::regnamespace, 'pg_namespace')");
  };
  migrate("shop");
  EXPECT_EQ(comment(), "Locks of Mortise");
  bare().talk().run("comment on schema mortise is E'the shop''s \\\\ locks'");
  migrate();
  EXPECT_EQ(comment(), "the shop's \\ locks");
}

TEST_F(PostgresMigration, ThatIsRepeatedChangesNothingAndKeepsLocks) {
  migrate("shop");
  const std::string fresh = dump();
  bare().talk().run(
      "insert into mortise.lock (name, number, attempt, lease, expires_at, label)"
      " values ('held', 4102444800000000, 'x', 1, 'infinity', ''),"
      " ('free', 4102444800000000, 'x', 1, '-infinity', '')");
  migrate();
  EXPECT_EQ(dump(), fresh);
  Client mine(bare().url());
  EXPECT_FALSE(mine.make_lock("held").try_lock());
  Lock lock = mine.make_lock("free");
  EXPECT_TRUE(lock.try_lock());
  EXPECT_GT(grant_of(lock.token()), 4102444800000000U);
  EXPECT_EQ(lock.release(), Released::released);
}

// The advice to run what has just been run would lead in a circle.
TEST_F(PostgresMigration, ForARoleThatIsNotThereNamesItAndGivesNoAdvice) {
  const Failure failure = failure_of([&] { migrate("nobody"); });
  EXPECT_EQ(failure.code, Errc::misconfigured) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("\"nobody\" does not exist"));
  EXPECT_THAT(failure.text, Not(HasSubstr("migrate")));
}

TEST_F(PostgresMigration, ByPsqlIsTheSame) {
  ASSERT_EQ(psql("-o /dev/null -f " MORTISE_SQL_DIR "/schema.sql"), 0);
  ASSERT_EQ(psql("-v role=shop -f " MORTISE_SQL_DIR "/application.sql"), 0);
  const std::string by_hand = dump();
  bare().talk().run("drop schema mortise cascade");
  migrate("shop");
  EXPECT_EQ(by_hand, dump());
}

TEST_F(PostgresMigration, KeepsTheRightToReleaseByForce) {
  migrate("shop");
  bare().talk().run("grant execute on function mortise.force_release to shop");
  migrate();
  Client mine(bare().url());
  Lock lock = mine.make_lock("a");
  lock.lock();
  EXPECT_EQ(test::force_release(bare().url(), "a", patience).size(), 1U);
  EXPECT_EQ(lock.release(), Released::was_lost);
  lock.lock();
  // As somebody does it by hand.
  EXPECT_EQ(bare().user().value("select count(*) from mortise.force_release($1)", {"a"}), "1");
  EXPECT_EQ(lock.release(), Released::was_lost);
}

// Somebody else's trigger would run with the owner's rights, and whoever may write needs no lock.
TEST_F(PostgresMigration, GivesNobodyWhatDefaultPrivilegesGive) {
  migrate("shop");
  const std::string plain = rights();
  bare().talk().run("drop schema mortise cascade");
  for (const char* what : {"tables", "sequences", "functions"}) {
    bare().talk().run(std::string("alter default privileges for role shop_owner grant all on ") +
                      what + " to shop with grant option");
  }
  migrate("shop");
  EXPECT_EQ(rights(), plain);
  PostgresTalk shop = bare().user();
  EXPECT_EQ(shop.refusal("create trigger t before update on mortise.once for each row"
                         " execute function suppress_redundant_updates_trigger()"),
            "42501");
  EXPECT_EQ(shop.refusal("delete from mortise.once"), "42501");
  EXPECT_EQ(shop.refusal("select mortise.force_release('a')"), "42501");
  migrate("shop");  // and again
  EXPECT_EQ(rights(), plain);
}

TEST_F(PostgresMigration, LeavesWhatWasGrantedToSeeAndToCallAndNoneToWrite) {
  migrate("shop");
  bare().talk().run(
      "create role watcher login; grant usage on schema mortise to watcher; grant select on "
      "mortise.lock to watcher;"
      "grant execute on function mortise.lock_in to watcher;"
      "grant insert, delete on mortise.lock to watcher with grant option;"
      "grant update (contact) on mortise.ticket to watcher");
  bare().talk().run("set role watcher; grant delete on mortise.lock to shop");
  migrate();
  const auto may = [&](const std::string& question) { return value("select has_" + question); };
  EXPECT_EQ(may("table_privilege('watcher', 'mortise.lock', 'select')"), "t");
  EXPECT_EQ(may("function_privilege('watcher', 'mortise.lock_in(bytea, integer)', 'execute')"),
            "t");
  EXPECT_EQ(may("table_privilege('watcher', 'mortise.lock', 'insert, delete')"), "f");
  EXPECT_EQ(may("table_privilege('shop', 'mortise.lock', 'delete')"), "f");
  EXPECT_EQ(may("any_column_privilege('watcher', 'mortise.ticket', 'update')"), "f");
  EXPECT_EQ(may("table_privilege('watcher', 'mortise.once', 'select')"), "f");
}

// Somebody may keep tables of their own beside ours.
TEST_F(PostgresMigration, LeavesWhatElseIsInItsSchemaAsItIs) {
  migrate("shop");
  const auto theirs = [&] {
    return value(
        "select string_agg(what, chr(10) order by what) from ("
        " select oid::regclass || ' ' || relacl::text from pg_class where relname like 'orders%'"
        " union all select attname || ' ' || attacl::text from pg_attribute"
        "  where attrelid = 'mortise.orders'::regclass and attacl is not null"
        " union all select oid::regprocedure || ' ' || coalesce(proacl::text, 'everybody')"
        "  from pg_proc where proname like 'orders%') as all_of_them(what)");
  };
  PostgresTalk(bare().owner_url())
      .run(
          "create table mortise.orders (id bigint generated always as identity);"
          "grant select, insert on mortise.orders to public;"
          "grant all on mortise.orders to shop; grant update (id) on mortise.orders to shop;"
          "grant all on sequence mortise.orders_id_seq to shop;"
          "create function mortise.orders_open() returns int language sql as 'select 1';"
          "create function mortise.orders_charged() returns int language sql as 'select 1';"
          "grant execute on function mortise.orders_charged to shop with grant option;"
          "create aggregate mortise.orders_sum(int) (sfunc = int4pl, stype = int)");
  const std::string before = theirs();
  migrate("shop");
  EXPECT_EQ(theirs(), before);
}

TEST_F(PostgresMigration, LetsClientsGoOn) {
  migrate("shop");
  Client mine(bare().url());
  Lock lock = mine.make_lock("a");
  lock.lock();
  migrate();
  EXPECT_EQ(lock.release(), Released::released);
  lock.lock();
  EXPECT_FALSE(Client(bare().url()).make_lock("a").try_lock());
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(PostgresMigration, NeverGoesDown) {
  migrate("shop");
  // A version that is not yet.
  PostgresTalk(bare().owner_url())
      .run(
          "create or replace function mortise.schema_version() returns bigint"
          " language sql immutable as $$select 9::bigint$$");
  const Failure failure = failure_of([&] { migrate("shop"); });
  EXPECT_EQ(failure.code, Errc::misconfigured) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("version 9"));
  EXPECT_EQ(value("select mortise.schema_version()"), "9");
  const Failure told = failure_of([&] { Client(bare().url()).check(patience); });
  EXPECT_EQ(told.code, Errc::misconfigured) << told.text;
  EXPECT_THAT(told.text, HasSubstr("newer library"));
  EXPECT_THAT(told.text, Not(HasSubstr("migrate")));
}

TEST_F(PostgresMigration, IsWhatAnOlderSchemaIsToldToNeed) {
  migrate("shop");
  PostgresTalk(bare().owner_url())
      .run(
          "create or replace function mortise.schema_version() returns bigint"
          " language sql immutable as $$select 0::bigint$$");
  const Failure told = failure_of([&] { Client(bare().url()).check(patience); });
  EXPECT_EQ(told.code, Errc::misconfigured) << told.text;
  EXPECT_THAT(told.text, HasSubstr("migrate"));
  migrate();
  Client(bare().url()).check(patience);
}

TEST_F(PostgresMigration, RunsNothingOfAStrangerWhoMadeTheSchemaFirst) {
  PostgresTalk talk = stranger();
  talk.run("create schema mortise");
  expect_refused(bare().owner_url(), "the schema, of shop");
  expect_refused(superuser_url(), "the schema, of shop");
  // Down to the trap itself: a table of its own with a trigger of its own.
  talk.run(
      "create table mortise.lock (name bytea primary key, number bigint not null, attempt bytea "
      "not null,"
      " lease bigint not null, expires_at timestamptz not null, label bytea not null,"
      " waiters_until timestamptz not null default '-infinity', unique (number, name));"
      "create function mortise.trap() returns trigger language plpgsql as"
      " $$ begin alter role shop superuser; return new; end $$;"
      "create trigger trap before insert or update on mortise.lock"
      " for each row execute function mortise.trap()");
  expect_refused(superuser_url(), "trap");
}

TEST_F(PostgresMigration, RefusesWhatOthersHaveAddedToIt) {
  migrate("shop");
  const auto added = [&](const std::string& what, const std::string& undo,
                         const std::string& words) {
    bare().talk().run(what);
    expect_refused(bare().owner_url(), words);
    bare().talk().run(undo);
    migrate("shop");
  };
  bare().talk().run(
      "create function public.f() returns trigger language plpgsql as 'begin return new; end';"
      "create function public.g(bytea) returns bytea language sql immutable as 'select $1'");
  added("create trigger t before update on mortise.ticket for each row execute function public.f()",
        "drop trigger t on mortise.ticket", "trigger t");
  added("create rule r as on insert to mortise.lock do also select 1",
        "drop rule r on mortise.lock", "rule r");
  added("create policy p on mortise.lock", "drop policy p on mortise.lock", "policy p");
  added("create table public.heir () inherits (mortise.lock)", "drop table public.heir",
        "public.heir inherits");
  added(
      "create table public.whole (like mortise.lock) partition by list (name);"
      "alter table public.whole attach partition mortise.lock default",
      "alter table public.whole detach partition mortise.lock; drop table public.whole",
      "mortise.lock is no plain table");
  added("create index computing on mortise.lock (public.g(name))", "drop index mortise.computing",
        "mortise.computing computes");
  added("create index chosen on mortise.lock (name) where public.g(name) is null",
        "drop index mortise.chosen", "mortise.chosen computes");
  added("create function mortise.z() returns int language sql as 'select 1'",
        "drop function mortise.z()", "mortise.z()");
  added("create operator mortise.<> (leftarg = bytea, rightarg = bytea, function = byteane)",
        "drop operator mortise.<> (bytea, bytea)", "operator");
  added("grant create on schema mortise to shop", "revoke create on schema mortise from shop",
        "CREATE, of shop");
  added("grant trigger on mortise.lock to shop", "revoke trigger on mortise.lock from shop",
        "TRIGGER, of shop");
}

TEST_F(PostgresMigration, FindsNamesByItsOwnPath) {
  // Whoever may write to `public`, or to any schema of the path, is not asked.
  bare().talk().run(
      "create function public.set_config(text, text, boolean) returns text language plpgsql as"
      " $$ begin raise 'a stranger was here'; end $$;"
      "alter role shop_owner set search_path = public, pg_catalog");
  migrate("shop");
  EXPECT_TRUE(Client(bare().url()).make_lock("a").try_lock());
}

TEST_F(PostgresMigration, BySeveralAtOnceIsOneAfterTheOther) {
  static_cast<void>(bare());
  for (const bool there : {false, true}) {
    std::vector<std::future<void>> all;
    for (int i = 0; i < 4; ++i) {
      all.push_back(std::async(std::launch::async, [this] { migrate("shop"); }));
    }
    for (auto& each : all) EXPECT_NO_THROW(each.get()) << there;
  }
  EXPECT_TRUE(Client(bare().url()).make_lock("a").try_lock_for(patience));
}

TEST_F(PostgresMigration, WaitsForNoneOfThoseWhoMayNotMigrate) {
  migrate("shop");
  PostgresTalk shop = bare().user();
  shop.run("select pg_advisory_lock(7077, 1); begin; savepoint before");
  EXPECT_EQ(shop.refusal("comment on schema mortise is 'mine'"), "42501");
  shop.run("rollback to before");
  EXPECT_NO_THROW(migrate("shop"));
  shop.run("rollback");
}

TEST_F(PostgresMigration, DependsOnNoDefaultOfTheRole) {
  bare().talk().run(
      "alter role shop_owner set default_transaction_isolation = 'serializable';"
      "alter role shop_owner set default_transaction_read_only = on");
  migrate("shop");
  migrate("shop");
  EXPECT_TRUE(Client(bare().url()).make_lock("a").try_lock());
}

}  // namespace
}  // namespace mortise::fault
