// SPDX-License-Identifier: MIT
// Goal: a machine without memory costs an answer, and no more, also while connections break or a
// round is lost: what was under way is not forgotten (L1, L4), and no server is left out. Method: a
// program of its own, whose allocations fail one after the other.
#include "fault/redlock_fixture.hpp"
#include "support/shortage_program.hpp"

namespace mortise::fault {
namespace {

class RedlockMemory : public RedlockTest {
 protected:
  /// @param step one of so many allocations fails
  void play(const std::string& step) {
    std::vector<std::string> arguments{step};
    for (std::size_t i = 0; i < servers(3).size(); ++i) {
      arguments.push_back(std::to_string(servers()[i].port()));
    }
    test::expect_no_harm_by_shortage("redlock_memory", arguments, 200s);
  }
};
using RedlockMemoryLong = RedlockMemory;

// Promise: L4
TEST_F(RedlockMemory, WhicheverOfTheseAllocationsFailsNothingIsForgotten) { play("4"); }

// Promise: L4
TEST_F(RedlockMemoryLong, WhicheverAllocationFailsNothingIsForgottenAndNoServerLeftOut) {
  play("1");
}

}  // namespace
}  // namespace mortise::fault
