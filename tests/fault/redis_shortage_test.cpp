// SPDX-License-Identifier: MIT
// Goal: a client without memory costs an answer, and no more, also while its connection breaks or
// is refused: what was under way is not forgotten, and nothing stays held for nobody (L4). Method:
// a program of its own, whose allocations fail one after the other.
#include "fault/redis_fixture.hpp"
#include "support/shortage_program.hpp"

namespace mortise::fault {
namespace {

class RedisShortage : public RedisTest {};

// Promise: L4
TEST_F(RedisShortage, WhicheverAllocationFailsNothingIsForgotten) {
  test::expect_no_harm_by_shortage("redis_shortage", {std::to_string(server().port())}, 100s);
}

}  // namespace
}  // namespace mortise::fault
