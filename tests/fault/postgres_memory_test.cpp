// SPDX-License-Identifier: MIT
// Goal: a machine without memory costs an answer, and no more, also while a connection breaks or
// stands still: what was under way on it is not forgotten (S3, L4, L7). Method: a program of its
// own, whose allocations fail one after the other.
#include "fault/postgres_fixture.hpp"
#include "model/process.hpp"

namespace mortise::fault {
namespace {

class PostgresMemory : public PostgresTest {
 protected:
  /// @param step one of so many allocations fails
  void play(const std::string& step) {
    model::Process program =
        model::Process::spawn(MORTISE_BIN_DIR "/mortise_postgres_memory", {server().url(), step});
    const auto exit = program.wait_for(600s);
    ASSERT_TRUE(exit) << "it does not end";
    EXPECT_FALSE(exit->killed()) << "an exception left a function that must not throw";
    if (exit->code == 77) GTEST_SKIP() << "clang's sanitizers have an operator new of their own";
    EXPECT_EQ(exit->code, 0) << "its own words say what was left behind";
  }
};
using PostgresMemoryLong = PostgresMemory;

// Promise: L4
TEST_F(PostgresMemory, WhicheverOfTheseAllocationsFailsNothingIsForgotten) { play("8"); }

// Promise: L4
TEST_F(PostgresMemoryLong, WhicheverAllocationFailsNothingIsForgotten) { play("1"); }

}  // namespace
}  // namespace mortise::fault
