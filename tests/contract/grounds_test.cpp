// SPDX-License-Identifier: MIT
// Goal: no test of the contract is written in vain. Method: of our own grounds, every test has to
// stand on some. (Whoever has the suite as a component has other grounds, and no such test.)
#include "support/contract_suites.hpp"

#include <algorithm>
#include <variant>

namespace mortise::contract {
namespace {

TEST(Grounds, LeaveNoTestOut) {
  for (const auto& one : test::Grounds<BackendUnderTest>::here().cases()) {
    const bool of_another_build =
        std::any_of(one.needs.begin(), one.needs.end(), [](const Need& need) {
          return std::holds_alternative<Build>(need) && !built_as(std::get<Build>(need));
        });
    if (of_another_build) continue;
    EXPECT_GT(one.times, 0) << one.name << " needs what no ground has: it is never run";
  }
}

}  // namespace
}  // namespace mortise::contract
