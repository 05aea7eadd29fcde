// SPDX-License-Identifier: MIT
// Goal: a machine without memory costs an answer, and no more, also while connections break or a
// round is lost: what was under way is not forgotten (L1, L4), and no server is left out. Method: a
// program of its own, whose allocations fail one after the other.
#include "fault/redlock_fixture.hpp"
#include "model/process.hpp"

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
    model::Process program =
        model::Process::spawn(MORTISE_BIN_DIR "/mortise_redlock_memory", arguments);
    const auto exit = program.wait_for(200s);
    ASSERT_TRUE(exit) << "it does not end";
    EXPECT_FALSE(exit->killed()) << "an exception left a function that must not throw";
    if (exit->code == 77) GTEST_SKIP() << "clang's sanitizers have an operator new of their own";
    EXPECT_EQ(exit->code, 0) << "its own words say what was left behind";
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
