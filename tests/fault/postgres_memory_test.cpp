// SPDX-License-Identifier: MIT
// Goal: a machine without memory costs an answer, and no more, also while a connection breaks or
// stands still: what was under way on it is not forgotten (S3, L4, L7). Method: a program of its
// own, whose allocations fail one after the other.
#include "fault/postgres_fixture.hpp"
#include "support/shortage_program.hpp"

namespace mortise::fault {
namespace {

class PostgresMemory : public PostgresTest {
 protected:
  /// @param step one of so many allocations fails
  void play(const std::string& step) {
    test::expect_no_harm_by_shortage("postgres_memory",
                                     {server().url(), server().owner_url(), step}, 600s);
  }
};
using PostgresMemoryLong = PostgresMemory;

// Promise: L4
TEST_F(PostgresMemory, WhicheverOfTheseAllocationsFailsNothingIsForgotten) { play("16"); }

// Promise: L4
TEST_F(PostgresMemoryLong, WhicheverAllocationFailsNothingIsForgotten) { play("1"); }

}  // namespace
}  // namespace mortise::fault
