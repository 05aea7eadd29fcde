// SPDX-License-Identifier: MIT
// Goal: no test of the contract is missing where it belongs, since what a ground has not it has no
// test of. Method: what is written down of each ground is compared with what its backend says.
#include "support/contract_suites.hpp"

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
  EXPECT_EQ(says.min_hold == Support::yes, has(Quality::min_hold));
  EXPECT_EQ(says.shared_mode == Support::yes, has(Quality::shared));
  EXPECT_EQ(says.permits == Support::yes, has(Quality::permits));
  EXPECT_EQ(says.holders == Support::yes, has(Quality::holders));
  EXPECT_EQ(says.lists == Support::yes, has(Quality::lists));
  EXPECT_EQ(says.queues == Support::yes, has(Quality::queues));
  EXPECT_EQ(says.forces == Support::yes, has(Quality::forces));
}

}  // namespace
}  // namespace mortise::contract
