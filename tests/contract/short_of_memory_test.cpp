// SPDX-License-Identifier: MIT
// Goal: a machine without memory costs a call, and no more (L4, L7). Method: a program of its own,
// whose allocations fail one after the other.
#include "support/shortage_program.hpp"

namespace mortise::contract {
namespace {

// Promise: L4
TEST(ShortOfMemory, WhicheverAllocationFailsNothingStaysBehind) {
  test::expect_no_harm_by_shortage("short_of_memory", {}, std::chrono::seconds(60));
}

}  // namespace
}  // namespace mortise::contract
