// SPDX-License-Identifier: MIT
// Goal: a client without memory costs an answer, and no more, also while its connection breaks or
// is refused: what was under way is not forgotten, and nothing stays held for nobody (L4). Method:
// a program of its own, whose allocations fail one after the other.
#include "fault/redis_fixture.hpp"
#include "model/process.hpp"

namespace mortise::fault {
namespace {

class RedisShortage : public RedisTest {};

// Promise: L4
TEST_F(RedisShortage, WhicheverAllocationFailsNothingIsForgotten) {
  model::Process program = model::Process::spawn(MORTISE_BIN_DIR "/mortise_redis_shortage",
                                                 {std::to_string(server().port())});
  const auto exit = program.wait_for(100s);
  ASSERT_TRUE(exit) << "it does not end";
  EXPECT_FALSE(exit->killed()) << "an exception left a function that must not throw";
  if (exit->code == 77) GTEST_SKIP() << "clang's sanitizers have an operator new of their own";
  EXPECT_EQ(exit->code, 0) << "its own words say what was left behind";
}

}  // namespace
}  // namespace mortise::fault
