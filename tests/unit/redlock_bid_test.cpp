// SPDX-License-Identifier: MIT
// Goal: in one round a server is asked once, whatever addresses lead to it. Method: the record of a
// round alone.
#include "redlock/question.hpp"

#include <gtest/gtest.h>

namespace mortise::redlock {
namespace {

constexpr Quorum three{.nodes = 3};

TEST(RedlockBidTest, AServerThatTwoAddressesLeadToIsAskedOnce) {
  Bid bid(nullptr, three);
  EXPECT_TRUE(bid.asks(0, 7));
  EXPECT_TRUE(bid.asks(1, 8));
  // The first address has led to it, and leads elsewhere now; its vote may count already.
  EXPECT_FALSE(bid.asks(2, 7));
  EXPECT_TRUE(bid.asks(2, 9));
}

TEST(RedlockBidTest, AnAddressMayBeAskedOnceMore) {
  Bid bid(nullptr, three);
  EXPECT_TRUE(bid.asks(0, 7));
  EXPECT_TRUE(bid.asks(0, 7));
  EXPECT_TRUE(bid.asks(0, 8));
}

}  // namespace
}  // namespace mortise::redlock
