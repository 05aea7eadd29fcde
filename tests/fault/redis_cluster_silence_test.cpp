// SPDX-License-Identifier: MIT
// Goal: a server of a cluster that is silent costs no hold of the others, with which what it has is
// renewed (L8). Method: a cluster of the test's own, one of whose masters stands still.
#include "fault/redis_cluster_fixture.hpp"

#include <deque>

namespace mortise::fault {
namespace {

class RedisClusterSilence : public RedisClusterTest {};

TEST_F(RedisClusterSilence, OfOneServerLosesNoHoldOfTheOthers) {
  // It is not given up while this goes on: without it the others would refuse everything.
  cluster({.masters = 3, .replicas = 0, .node_timeout = 60s});
  Client mine = client();
  std::deque<Lock> quiet;
  std::deque<Lock> others;
  for (std::size_t i = 0; i < 150; ++i) {
    const std::string name = "held" + std::to_string(i);
    std::deque<Lock>& which = cluster().master_of(name) == 1 ? quiet : others;
    which.push_back(mine.make_lock(name, {.lease = 1500ms}));
    which.back().lock();
  }
  ASSERT_FALSE(quiet.empty());
  cluster()[1].stop();
  for (const Lock& lock : quiet) {
    EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }));
  }
  std::size_t lost = 0;
  for (const Lock& lock : others) lost += lock.lost().stop_requested() ? 1U : 0U;
  EXPECT_EQ(lost, 0U) << "of " << others.size();
  cluster()[1].resume();
}

}  // namespace
}  // namespace mortise::fault
