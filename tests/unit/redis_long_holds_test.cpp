// SPDX-License-Identifier: MIT
// Goal: holds beside Redisson that last are all looked at each second, and wake a thread ten times
// a second at most, however many they are. Method: the lines alone, on a clock of the test's own.
#include "redis/long_holds.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::redis {
namespace {

using namespace std::chrono_literals;

TEST(RedisLongHolds, AreLookedAtEachSecondAndManyTogether) {
  constexpr std::size_t many = 500;
  LongHolds holds;
  Instant now(1h);
  for (std::size_t i = 0; i < many; ++i, now += 2ms) {
    static_cast<void>(holds.began({.name = std::to_string(i)}, now));
    for (HoldId& hold : holds.due(now)) holds.again(std::move(hold), now);
  }
  const Instant begin = now += 200ms;
  for (HoldId& hold : holds.due(now)) holds.again(std::move(hold), now);
  std::size_t looks = 0;
  std::size_t wakings = 0;
  while (holds.next() < begin + 10s) {
    now = holds.next();
    ++wakings;
    for (HoldId& hold : holds.due(now)) {
      ++looks;
      holds.again(std::move(hold), now);
    }
  }
  EXPECT_LE(wakings, 100U);
  EXPECT_GE(looks, 10 * many) << "each of them each second";
  EXPECT_LE(looks, 12 * many);
}

}  // namespace
}  // namespace mortise::redis
