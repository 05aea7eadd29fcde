// SPDX-License-Identifier: MIT
// Goal: each attempt that waits for news of a path is notified once, and the session knows which
// attempt is the last one. Method: known orders of calls.
#include "zookeeper/watches.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

namespace mortise::zookeeper {
namespace {

class Waiter : public Watcher {
 public:
  void watched(std::string_view /*path*/, bool /*gone*/) override {}
};

TEST(ZooKeeperWatches, AWatcherIsNotifiedOnceHoweverOftenItIsAdded) {
  const auto mine = std::make_shared<Waiter>();
  const auto other = std::make_shared<Waiter>();
  Watches watches;
  watches.add("/a", mine);
  watches.add("/a", other);
  watches.add("/a", mine);
  EXPECT_EQ(watches.bytes(), 2U);
  EXPECT_EQ(watches.take("/a").size(), 2U);
  EXPECT_TRUE(watches.take("/a").empty());
  EXPECT_EQ(watches.bytes(), 0U);
}

TEST(ZooKeeperWatches, OnlyTheLastOneThatLeavesEndsTheWatch) {
  const auto mine = std::make_shared<Waiter>();
  auto other = std::make_shared<Waiter>();
  Watches watches;
  watches.add("/a", mine);
  watches.add("/a", other);
  EXPECT_FALSE(watches.remove("/a", *mine));
  EXPECT_TRUE(watches.remove("/a", *other));
  EXPECT_FALSE(watches.remove("/a", *other));
  watches.add("/a", mine);
  watches.add("/a", other);
  other.reset();
  EXPECT_TRUE(watches.remove("/a", *mine)) << "the other one is gone";
  EXPECT_EQ(watches.bytes(), 0U);
}

}  // namespace
}  // namespace mortise::zookeeper
