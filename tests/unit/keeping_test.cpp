// SPDX-License-Identifier: MIT
// Goal: a name is kept no shorter than its `min_hold`, and hardly longer. Method: the test owns the
// time.
#include "core/keeping.hpp"

#include <gtest/gtest.h>

namespace mortise::core {
namespace {

using namespace std::chrono_literals;

constexpr Instant start{1h};

Hold hold(Nanos min_hold, Nanos lease = 30s) {
  Hold hold{};
  hold.granted_at = hold.owned_since = start;
  hold.terms =
      std::make_shared<Terms>(Terms{.lease = lease, .label = "test", .min_hold = min_hold});
  return hold;
}

TEST(Keeping, IsDueUntilTheHoldIsOldEnough) {
  EXPECT_FALSE(Keeping::due(hold(0ms), start));
  EXPECT_TRUE(Keeping::due(hold(10s), start));
  EXPECT_TRUE(Keeping::due(hold(10s), start + 10s - 1ns));
  EXPECT_FALSE(Keeping::due(hold(10s), start + 10s));
}

TEST(Keeping, CountsFromTheOwnersBeginning) {
  Hold passed = hold(10s);
  passed.owned_since = start + 5s;
  EXPECT_TRUE(Keeping::due(passed, start + 14s));
  EXPECT_EQ(Keeping(passed).until(), start + 15s);
}

// Promise: M1
TEST(Keeping, AsksForWhatIsLeftAndTheDriftSinceTheGrant) {
  const Keeping keeping(hold(600s));
  EXPECT_EQ(keeping.lease(start), 600s + 600ms);
  EXPECT_EQ(keeping.lease(start + 100s), 500s + 600ms);
}

TEST(Keeping, RoundsUp) {
  EXPECT_EQ(Keeping(hold(600s)).lease(start + 1ns), 600s + 600ms);
  EXPECT_EQ(Keeping(hold(600s)).lease(start + 1ms - 1ns), 600s + 600ms);
  EXPECT_EQ(Keeping(hold(600s)).lease(start + 1ms), 600s + 599ms);
}

TEST(Keeping, GivesTheServerTimeToAnswer) {
  EXPECT_EQ(Keeping(hold(10s)).lease(start + 10s - 1ms), 1s);
  EXPECT_EQ(Keeping(hold(10s, 300ms)).lease(start + 10s - 1ms), 300ms);
  EXPECT_EQ(Keeping(hold(10s)).lease(start + 20s), 1s) << "it is said again, too late";
}

}  // namespace
}  // namespace mortise::core
