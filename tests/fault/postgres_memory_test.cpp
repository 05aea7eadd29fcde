// SPDX-License-Identifier: MIT
// Goal: a machine without memory costs an answer, and no more, also while a connection breaks or
// stands still: what was under way on it is not forgotten (S3, L4, L7). Method: a program of its
// own, whose allocations fail one after the other.
#include "fault/postgres_fixture.hpp"
#include "model/process.hpp"

namespace mortise::fault {
namespace {

class PostgresMemory : public PostgresTest {};

// Promise: L4
TEST_F(PostgresMemory, WhicheverAllocationFailsBehindABrokenConnectionNothingIsForgotten) {
  model::Process program =
      model::Process::spawn(MORTISE_BIN_DIR "/mortise_postgres_memory", {server().url()});
  const auto exit = program.wait_for(300s);
  ASSERT_TRUE(exit) << "it does not end";
  EXPECT_FALSE(exit->killed()) << "an exception left a function that must not throw";
  if (exit->code == 77) GTEST_SKIP() << "clang's sanitizers have an operator new of their own";
  EXPECT_EQ(exit->code, 0) << "its own words say what was left behind";
}

}  // namespace
}  // namespace mortise::fault
