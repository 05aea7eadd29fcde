// SPDX-License-Identifier: MIT
// Goal: docs/stores/redis-redisson.md is right about names that are shared with Redisson, while
// processes of both sides die and stop. Method: the real Redisson, in processes of its own, next to
// ours; the whole history is judged. See `./dev interop`.
#include "model/interop_suite.hpp"
#include "model/redis_history_store.hpp"
#include "support/redisson_stranger.hpp"

#include <gtest/gtest.h>

namespace mortise::model {
namespace {

class RedissonInteropLong : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string& lack :
         {test::RedissonStranger::missing(), test::RedisServer::missing()}) {
      if (!lack.empty()) GTEST_SKIP() << lack << " is not there";
    }
  }
  [[nodiscard]] static Neighbours redisson() {
    Neighbours neighbours;
    neighbours.start = [lease = neighbours.lease](Stage& stage, const std::string& name) {
      test::RedisServer& server = static_cast<RedisHistoryStore&>(*stage.store).server();
      return test::RedissonStranger(server.url(), name, lease);
    };
    return neighbours;
  }
};

// Promise: S1
TEST_F(RedissonInteropLong, BothSidesExcludeEachOther) {
  expect_neighbours_apart(redis_processes("redisson", "interop=redisson"), redisson());
}

TEST_F(RedissonInteropLong, WithoutTheOptionBothHoldAndThatIsSeen) {
  expect_neighbours_seen_together(redis_processes("redis"), redisson());
}

}  // namespace
}  // namespace mortise::model
