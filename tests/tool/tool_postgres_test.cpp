// SPDX-License-Identifier: MIT
// Goal: `mortise migrate` does the manual steps of docs/stores/postgresql-running.md, and reports
// errors. Method: a PostgreSQL of the test's own, whose owner and application are two roles. The
// application takes locks with the tool before and after.
#include "support/postgres_server.hpp"
#include "tool/tool_fixture.hpp"

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <utility>

namespace mortise::test {
namespace {

using ::testing::HasSubstr;

class ToolPostgres : public ToolTest {
 protected:
  void SetUp() override {
    MORTISE_NEEDS_POSTGRES_SERVER();
    server_.emplace();
    use_store(server_->url());
  }
  [[nodiscard]] PostgresServer& server() { return *server_; }
  [[nodiscard]] ToolResult migrate(const Words& more = {}) {
    Words words{"migrate", "--url", server().owner_url(), "--role", postgres_application};
    words.insert(words.end(), more.begin(), more.end());
    return call(words);
  }
  /// Takes a lock as the application, with the schema that its URL names.
  [[nodiscard]] ToolResult take(const std::string& more = {}) {
    const std::string url = server().url();
    const char sign = url.find('?') == std::string::npos ? '?' : '&';
    return call(with_shell({"run", "--url", more.empty() ? url : url + sign + more, "a"},
                           "echo token $MORTISE_TOKEN"));
  }

 private:
  std::optional<PostgresServer> server_;
};

TEST_F(ToolPostgres, MigratesASchemaForTheApplication) {
  const ToolResult before = take();
  EXPECT_EQ(before.status, 78);
  EXPECT_THAT(before.err, HasSubstr("migrate"));
  const ToolResult made = migrate();
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(made.out, "the schema is up to date\n");
  const ToolResult after = take();
  EXPECT_EQ(after.status, 0) << after.err;
  EXPECT_THAT(after.out, ::testing::ContainsRegex("^token [1-9]"));
  const ToolResult looked = call({"check"});
  EXPECT_EQ(looked.status, 0) << looked.err;
}

TEST_F(ToolPostgres, MigratesAgainWhileALockIsHeld) {
  ASSERT_EQ(migrate().status, 0);
  RunningTool holder =
      start(with_shell({"run", "a"}, "note held; while [ ! -e $F/go ]; do sleep 0.01; done"));
  ASSERT_GT(noted("held"), 0);
  EXPECT_EQ(migrate().status, 0);
  EXPECT_FALSE(is_free("a"));
  touch("go");
  EXPECT_EQ(holder.wait().status, 0);
}

TEST_F(ToolPostgres, MigratesIntoASchemaOfAnotherName) {
  const ToolResult made = migrate({"--schema", "other"});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(take("mortise.schema=other").status, 0);
  EXPECT_EQ(take().status, 78) << "the one by default was not made";
}

TEST_F(ToolPostgres, PrintsSqlThatPsqlRuns) {
  const ToolResult printed = call({"migrate", "--print", "--role", postgres_application});
  ASSERT_EQ(printed.status, 0) << printed.err;
  PostgresTalk(server().owner_url()).run(printed.out);
  EXPECT_EQ(take().status, 0);
}

TEST_F(ToolPostgres, ReportsAUserWhoMayNotMigrate) {
  const ToolResult refused = call({"migrate"});
  EXPECT_EQ(refused.status, 77) << refused.err;
  EXPECT_EQ(take().status, 78) << "a part of it was made";
}

TEST_F(ToolPostgres, NamesAMissingRole) {
  const ToolResult unknown =
      call({"migrate", "--url", server().owner_url(), "--role", "nobody_here"});
  EXPECT_EQ(unknown.status, 78) << unknown.err;
  EXPECT_THAT(unknown.err, HasSubstr("nobody_here"));
  EXPECT_EQ(migrate().status, 0) << "what failed has left nothing";
}

TEST_F(ToolPostgres, GrantsItsPermissionsToARoleOfAnyName) {
  const std::pair<const char*, const char*> roles[] = {
      {"shop-app", "shop-app"},
      {"a\"b", "a%22b"},
      {"user@project.iam", "user%40project.iam"},
      {"Shop App", "Shop%20App"},
      {"x; DROP ROLE shop --", "x%3B%20DROP%20ROLE%20shop%20--"},
      {"current_user", "current_user"}};
  PostgresTalk superuser = server().talk();
  for (const auto& [role, encoded] : roles) {
    superuser.run(
        superuser.value("SELECT format('CREATE ROLE %I LOGIN PASSWORD %L', $1::text, $2::text)",
                        {role, postgres_password}));
    const ToolResult made = call({"migrate", "--url", server().owner_url(), "--role", role});
    EXPECT_EQ(made.status, 0) << role << made.err;
    const std::string url = PostgresServer::url_by(server().port(), encoded);
    EXPECT_EQ(call({"run", "--url", url, "a", "--", "true"}).status, 0) << role;
  }
  EXPECT_EQ(superuser.value("SELECT count(*) FROM pg_roles WHERE rolname = 'shop'"), "1");
}

TEST_F(ToolPostgres, RefusesToGrantToEveryRole) {
  const ToolResult refused = call({"migrate", "--url", server().owner_url(), "--role", "public"});
  EXPECT_EQ(refused.status, 78);
  EXPECT_THAT(refused.err, HasSubstr("every role"));
  EXPECT_EQ(call({"migrate", "--url", server().owner_url(), "--role", std::string(64, 'r')}).status,
            78);
}

TEST_F(ToolPostgres, ReportsThatNoServerAnswers) {
  server().kill();
  const ToolResult result = migrate();
  EXPECT_EQ(result.status, 69) << result.err;
}

}  // namespace
}  // namespace mortise::test
