// SPDX-License-Identifier: MIT
// Goal: the SQL that docs/postgresql.md prints is the SQL that the library runs, and names of
// schema and role go in as identifiers only. Method: the page beside the text; names that are none.
#include <mortise/error.hpp>
#include <mortise/postgres.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace mortise::postgres {
namespace {

std::string printed() {
  std::ifstream page(MORTISE_DOCS_DIR "/postgresql.md");
  std::stringstream text;
  text << page.rdbuf();
  const std::string begins = "\n```sql\n-- SPDX";
  const std::string all = text.str();
  const std::size_t begin = all.find(begins);
  if (begin == std::string::npos) return "no such block";
  const std::size_t from = begin + std::string("\n```sql\n").size();
  return all.substr(from, all.find("\n```\n", from) + 1 - from);
}

TEST(PostgresMigration, IsWhatTheManualPrints) {
  EXPECT_EQ(printed(), migration({.role = "shop"}));
}

TEST(PostgresMigration, GoesIntoAnySchema) {
  const std::string text = migration({.schema = "locks_2", .role = "app"});
  EXPECT_NE(text.find("CREATE TABLE IF NOT EXISTS locks_2.lock"), std::string::npos);
  EXPECT_NE(text.find("GRANT USAGE ON SCHEMA locks_2 TO app"), std::string::npos);
  EXPECT_EQ(text.find("mortise."), text.find("mortise.check")) << "a part is left in the default";
  EXPECT_EQ(text.find('@'), std::string::npos) << "a name was not filled in";
  EXPECT_EQ(migration({.schema = "locks_2"}).find(" TO app"), std::string::npos);
}

TEST(PostgresMigration, TakesNoSqlForAName) {
  for (const char* name : {"a b", "a;b", "a\"b", "A", "1a", "a-b", "a.b", "'"}) {
    EXPECT_THROW(static_cast<void>(migration({.schema = name})), LockError) << name;
    EXPECT_THROW(static_cast<void>(migration({.role = name})), LockError) << name;
  }
  EXPECT_THROW(static_cast<void>(migration({.schema = ""})), LockError);
}

}  // namespace
}  // namespace mortise::postgres
