// SPDX-License-Identifier: MIT
// Goal: thousands of held locks are ordinary, and cost no more than a KiB each. Method: the heap is
// looked at before a thousand are taken and while they are held, with the memory server's part.
#include <mortise/memory.hpp>

#include "support/heap_of_a_held_lock.hpp"

#include <gtest/gtest.h>

namespace mortise::memory {
namespace {

TEST(MemoryHeldLock, CostsNoMoreThanAKibibyte) {
  if (test::heap_in_use() == 0) GTEST_SKIP() << "a sanitizer has a heap of its own";
  Server server;
  Client client(server.backend());
  EXPECT_LE(test::heap_of_a_held_lock(client), test::most_heap_of_a_held_lock);
}

}  // namespace
}  // namespace mortise::memory
