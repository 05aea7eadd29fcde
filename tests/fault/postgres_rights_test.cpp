// SPDX-License-Identifier: MIT
// Goal: the functions run with their owner's rights, and lend them to nobody: names are found by
// their own path, whatever a caller's path is; nor do the statements lend the application's to
// those who may make something in `public`. Method: the application's role brings operators of its
// own, by which all is equal and long over, in front of PostgreSQL's; and others bring operators
// for types that PostgreSQL has none for.
#include "fault/postgres_fixture.hpp"
#include "support/force.hpp"

#include <string>

namespace mortise::fault {
namespace {

class PostgresRights : public PostgresTest {
 protected:
  /// @return a session of the application that finds its own operators first.
  [[nodiscard]] PostgresTalk hostile() {
    server().talk().run(std::string("create schema hostile authorization ") +
                        test::postgres_application);
    PostgresTalk talk(server().url());
    talk.run(R"(do $$
      declare t text;
      begin
        foreach t in array '{bytea, bigint, timestamptz}'::text[] loop
          execute format('create function hostile.never(%1$s, %1$s) returns boolean
                            language sql as $f$select false$f$', t);
          execute format('create function hostile.always(%1$s, %1$s) returns boolean
                            language sql as $f$select true$f$', t);
          execute format('create operator hostile.<> (leftarg = %1$s, rightarg = %1$s,
                            function = hostile.never)', t);
          execute format('create operator hostile.<= (leftarg = %1$s, rightarg = %1$s,
                            function = hostile.always)', t);
        end loop;
      end $$)");
    talk.run("grant usage on schema hostile to public");  // or the owner would not look there
    talk.run("set search_path = hostile, pg_catalog");
    return talk;
  }
};

TEST_F(PostgresRights, OfTheOwnerAreNotLentToOperatorsOfTheCaller) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  PostgresTalk talk = hostile();
  ASSERT_EQ(talk.value("select '\\x01'::bytea <> '\\x02'::bytea"), "f") << "it finds PostgreSQL's";
  // The session that the library uses decides by a path, too; a stranger may set the same.
  for (const std::string path : {"hostile, pg_catalog", "pg_catalog, pg_temp"}) {
    talk.run("set search_path = " + path);
    // As a session of the library's own asks, and as any other one.
    for (const std::string how : {"8", "0"}) {
      EXPECT_THAT(
          talk.value("select mortise.take('a', '\\x00', 1000000, '', $1, '', 'infinity')", {how}),
          ::testing::StartsWith("B "))
          << path << how;
      EXPECT_EQ(talk.value("select mortise.release('a', '\\x00', 1, $1)", {how}), "N")
          << path << how;
    }
    EXPECT_TRUE(is_held("a")) << path;
  }
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(PostgresRights, AreNeededForWhatTheFunctionsAreMadeOf) {
  static_cast<void>(server());
  PostgresTalk talk(server().url());
  for (const char* call : {"mortise.take_row('a', '\\x00', 1000000, '', 0, 'infinity')",
                           "mortise.release_row('a', '\\x00', 1)"}) {
    EXPECT_EQ(talk.refusal(std::string("select ") + call), "42501") << call;
  }
}

// An operator for exactly these types is taken before those that something has to be cast for, also
// where its schema comes last in the path. A new connection has the role's path, and one behind a
// pooler has no other.
TEST_F(PostgresRights, OfTheApplicationAreNotLentToOperatorsOfOthers) {
  server().talk().run(R"(do $$
    declare
      types regtype[] := '{bytea, bigint, integer, timestamptz, interval, text, name, "char", boolean,
                           oid, regclass, xid, bigint[], bytea[], numeric}';
      operators text[] := '{&, =, <>, <, <=, >, >=, +, -, *, ||}';
      l regtype; r regtype; o text;
    begin
      foreach l in array types loop foreach r in array types loop
        execute format('create function public.trap(%s, %s) returns boolean language plpgsql
                          as $f$ begin raise ''a stranger was here''; end $f$', l, r);
        foreach o in array operators loop
          continue when exists (select from pg_operator where oprname = o and oprleft = l
                                   and oprright = r and oprnamespace = 'pg_catalog'::regnamespace);
          execute format('create operator public.%s (leftarg = %s, rightarg = %s,
                            function = public.trap)', o, l, r);
        end loop;
      end loop; end loop;
    end $$)");
  ASSERT_EQ(server().user().refusal("select 1::bigint & 4"), "P0001") << "they are not found";
  for (const std::string way : {"?mortise.pooled=yes", "?mortise.fair=yes"}) {
    Client mine(server().url() + way);
    Client other(server().url() + way);
    Lock lock = mine.make_lock("a" + way, {.lease = 300ms});
    ASSERT_TRUE(lock.try_lock_for(patience)) << way;
    Lock theirs = other.make_lock("a" + way);
    EXPECT_FALSE(theirs.try_lock());
    EXPECT_FALSE(theirs.try_lock_for(500ms));
    EXPECT_TRUE(theirs.holder());
    EXPECT_THAT(other.list("a").names, ::testing::Contains("a" + way));
    EXPECT_EQ(other.queue("a" + way).holders.size(), 1U);
    EXPECT_EQ(lock.release(), Released::released) << "renewed meanwhile";
    EXPECT_TRUE(theirs.try_lock_for(patience));
    EXPECT_EQ(test::force_release(server().owner_url() + way, "a" + way, patience).size(), 1U);
    EXPECT_EQ(theirs.release(), Released::was_lost);
    const auto run = [&](Client& client, const std::string& key) {
      return client.make_once(key + way, {.wait = 300ms, .lease = 300ms});
    };
    mortise::Run running = run(mine, "a").begin();
    EXPECT_EQ(run(other, "a").begin().outcome().state(), KeyState::pending);
    EXPECT_EQ(running.succeed("result").state(), KeyState::succeeded);
    EXPECT_EQ(run(other, "a").begin().outcome().result(), "result");
    EXPECT_EQ(run(other, "a").look().result(), "result");
    EXPECT_TRUE(run(other, "a").forget());
    run(mine, "b").begin().give_back();
    EXPECT_EQ(run(mine, "b").begin().fail("reason").state(), KeyState::failed);
  }
}

}  // namespace
}  // namespace mortise::fault
