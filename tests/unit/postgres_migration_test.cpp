// SPDX-License-Identifier: MIT
// Goal: the SQL that is installed for psql is the SQL that the library runs, and names of schema
// and role go in as identifiers only. Method: the files beside the text; names that are none, or
// that must be quoted.
#include <mortise/error.hpp>
#include <mortise/postgres.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace mortise::postgres {
namespace {

std::string installed(const std::string& name) {
  std::ifstream file(MORTISE_SQL_DIR "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(PostgresMigration, IsWhatIsInstalledForPsql) {
  EXPECT_EQ(installed("schema.sql"), migration());

  std::string rights = installed("application.sql");
  const std::string begin = "GRANT ";
  const std::string role = ":\"role\"";
  ASSERT_NE(rights.find(begin), std::string::npos);
  rights.erase(0, rights.find(begin));
  for (std::size_t at = rights.find(role); at != std::string::npos; at = rights.find(role)) {
    rights.replace(at, role.size(), "\"shop\"");
  }
  EXPECT_NE(migration({.role = "shop"}).find(rights), std::string::npos) << rights;
}

TEST(PostgresMigration, GoesIntoAnySchema) {
  const std::string text = migration({.schema = "locks_2", .role = "app"});
  EXPECT_NE(text.find("CREATE TABLE IF NOT EXISTS locks_2.lock"), std::string::npos);
  EXPECT_NE(text.find("GRANT USAGE ON SCHEMA locks_2 TO \"app\""), std::string::npos);
  EXPECT_EQ(text.find("mortise."), text.find("mortise.check")) << "a part is left in the default";
  EXPECT_EQ(text.find('@'), std::string::npos) << "a name was not filled in";
  EXPECT_EQ(migration({.schema = "locks_2"}).find(" TO \"app\""), std::string::npos);
}

TEST(PostgresMigration, TakesNoSqlForAName) {
  for (const char* name : {"a b", "a;b", "a\"b", "A", "1a", "a-b", "a.b", "'"}) {
    EXPECT_THROW(static_cast<void>(migration({.schema = name})), Error) << name;
  }
  EXPECT_THROW(static_cast<void>(migration({.schema = ""})), Error);
}

TEST(PostgresMigration, QuotesEveryRoleThatCanBe) {
  const std::pair<std::string, std::string> roles[] = {
      {"shop-app", "\"shop-app\""},
      {"a\"b", "\"a\"\"b\""},
      {"\"", "\"\"\"\""},
      {"user@project.iam", "\"user@project.iam\""},
      {"Shop", "\"Shop\""},
      {"x; DROP SCHEMA mortise --", "\"x; DROP SCHEMA mortise --\""},
      {"@schema@ @role@", "\"@schema@ @role@\""},
      {"current_user", "\"current_user\""},
      {std::string(63, 'r'), '"' + std::string(63, 'r') + '"'}};
  for (const auto& [role, quoted] : roles) {
    const std::string text = migration({.role = role});
    EXPECT_NE(text.find("GRANT USAGE ON SCHEMA mortise TO " + quoted + ";"), std::string::npos)
        << role;
  }
  for (const std::string& role :
       {std::string(64, 'r'), std::string("a\0b", 3), std::string("public")}) {
    EXPECT_THROW(static_cast<void>(migration({.role = role})), Error) << role;
  }
}

}  // namespace
}  // namespace mortise::postgres
