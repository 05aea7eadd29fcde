// SPDX-License-Identifier: MIT
// Goal: no test of the contract is missing where it belongs, since what a ground has not it has no
// test of. Method: what is written down of each ground is compared with what its backend says, and
// every test has to stand on some ground.
#include "support/contract_suites.hpp"

#include <algorithm>
#include <variant>

namespace mortise::contract {
namespace {

MORTISE_TEST(Traits, AreWhatTheBackendSays) {
  Client asking = client();
  asking.check(patience);
  const Capabilities says = asking.capabilities();
  EXPECT_EQ(says.leases == Support::yes, has(Quality::leases));
  EXPECT_NE(has(Quality::leases), has(Quality::no_leases));
  EXPECT_EQ(says.fair == Support::yes, has(Quality::fair));
  EXPECT_EQ(says.one_wake == Support::yes, has(Quality::one_wake));
  EXPECT_EQ(says.once == Support::yes, has(Quality::once));
  EXPECT_EQ(says.lists == Support::yes, has(Quality::lists));
  EXPECT_EQ(says.queues == Support::yes, has(Quality::queues));
  EXPECT_EQ(says.forces == Support::yes, has(Quality::forces));
}

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
