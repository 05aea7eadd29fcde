// SPDX-License-Identifier: MIT
// Goal: a machine without memory costs a call, and no more (L4, L7). Method: a program of its own,
// whose allocations fail one after the other.
#include "model/process.hpp"

#include <gtest/gtest.h>

namespace mortise::contract {
namespace {

// Promise: L4
TEST(ShortOfMemory, WhicheverAllocationFailsNothingStaysBehind) {
  model::Process program = model::Process::spawn(MORTISE_BIN_DIR "/mortise_short_of_memory", {});
  const auto exit = program.wait_for(std::chrono::seconds(60));
  ASSERT_TRUE(exit) << "it does not end";
  EXPECT_FALSE(exit->killed()) << "an exception left a function that must not throw";
  if (exit->code == 77) GTEST_SKIP() << "clang's sanitizers have an operator new of their own";
  EXPECT_EQ(exit->code, 0) << "the round that left something behind";
}

}  // namespace
}  // namespace mortise::contract
