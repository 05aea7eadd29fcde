// SPDX-License-Identifier: MIT
// Goal: the functions run with their owner's rights, and lend them to nobody: names are found by
// their own path, whatever a caller's path is. Method: the application's role brings operators of
// its own, by which all is equal and long over, in front of PostgreSQL's.
#include "fault/postgres_fixture.hpp"

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
  Lock lock = mine.lock("a");
  lock.lock();
  PostgresTalk talk = hostile();
  ASSERT_EQ(talk.value("select '\\x01'::bytea <> '\\x02'::bytea"), "f") << "it finds PostgreSQL's";
  // The session that the library uses decides by a path, too; a stranger may set the same.
  for (const std::string path : {"hostile, pg_catalog", "pg_catalog, pg_temp"}) {
    talk.run("set search_path = " + path);
    for (const std::string kind : {"", "_apart"}) {
      EXPECT_THAT(talk.value("select mortise.take" + kind + "('a', '\\x00', 1000000, '', 16)"),
                  ::testing::StartsWith("B "))
          << path << kind;
      EXPECT_EQ(talk.value("select mortise.release" + kind + "('a', '\\x00', 1, 16)"), "N")
          << path << kind;
    }
    EXPECT_TRUE(is_held("a")) << path;
  }
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(PostgresRights, AreNeededForWhatTheFunctionsAreMadeOf) {
  static_cast<void>(server());
  PostgresTalk talk(server().url());
  for (const char* call : {"mortise.take_row('a', '\\x00', 1000000, '', 16)",
                           "mortise.release_row('a', '\\x00', 1, 16)"}) {
    EXPECT_EQ(talk.refusal(std::string("select ") + call), "42501") << call;
  }
}

}  // namespace
}  // namespace mortise::fault
