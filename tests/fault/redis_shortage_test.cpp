// SPDX-License-Identifier: MIT
// Goal: a client without memory costs an answer, and no more, also while its connection breaks or
// is refused: what was under way is not forgotten, and nothing stays held for nobody (L4). Method:
// a program of its own, whose allocations fail one after the other.
#include "fault/redis_fixture.hpp"
#include "support/shortage_program.hpp"

namespace mortise::fault {
namespace {

class RedisShortage : public RedisTest {
 protected:
  /// @param step one of so many allocations fails
  void play(const std::string& step) {
    test::expect_no_harm_by_shortage("redis_shortage", {std::to_string(server().port()), step},
                                     600s);
  }
};
using RedisShortageLong = RedisShortage;

// Promise: L4
TEST_F(RedisShortage, WhicheverOfTheseAllocationsFailsNothingIsForgotten) { play("4"); }

// Promise: L4
TEST_F(RedisShortageLong, WhicheverAllocationFailsNothingIsForgotten) { play("1"); }

}  // namespace
}  // namespace mortise::fault
