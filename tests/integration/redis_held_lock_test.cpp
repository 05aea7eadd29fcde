// SPDX-License-Identifier: MIT
// Goal: thousands of held locks are ordinary, and cost their client no more than a KiB each.
// Method: its heap is looked at before a thousand are taken and while they are held.
#include <mortise/redis.hpp>

#include "support/heap_of_a_held_lock.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

namespace mortise::test {
namespace {

TEST(RedisHeldLock, CostsItsClientNoMoreThanAKibibyte) {
  MORTISE_NEEDS_REDIS_SERVER();
  if (heap_in_use() == 0) GTEST_SKIP() << "a sanitizer has a heap of its own";
  const RedisServer server;
  Client client(redis::backend(server.url()));
  EXPECT_LE(heap_of_a_held_lock(client), most_heap_of_a_held_lock);
}

}  // namespace
}  // namespace mortise::test
