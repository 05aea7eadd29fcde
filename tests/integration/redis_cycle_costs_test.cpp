// SPDX-License-Identifier: MIT
// Goal: a lock that nobody else wants costs two round trips, and next to nothing beside them.
// Method: a program of its own, whose mutexes, allocations, system calls and looks at the clock are
// counted.
#include "model/process.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

namespace mortise::test {
namespace {

TEST(RedisCycleCosts, AnUncontendedCycleTakesFewMutexesAndHardlyAllocates) {
  MORTISE_NEEDS_REDIS_SERVER();
  const RedisServer server;
  model::Process program =
      model::Process::spawn(MORTISE_BIN_DIR "/mortise_redis_cycle_costs", {server.url()});
  const auto exit = program.wait_for(std::chrono::seconds(60));
  ASSERT_TRUE(exit) << "it does not end";
  if (exit->code == 77) GTEST_SKIP() << "clang's sanitizers have an operator new of their own";
  EXPECT_EQ(exit->code, 0)
      << "1: mutexes taken, 2: mutexes, 4: allocations, 8: system calls, 16: looks at the clock";
}

}  // namespace
}  // namespace mortise::test
