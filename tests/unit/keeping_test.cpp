// SPDX-License-Identifier: MIT
// Goal: a name is kept no shorter than its `min_hold`, and hardly longer. Method: the test owns the
// time.
#include "core/keeping.hpp"

#include <gtest/gtest.h>

namespace mortise::core {
namespace {

using namespace std::chrono_literals;

constexpr Instant first_moment{1h};

Hold hold(Nanos min_hold, Nanos lease = 30s) {
  Hold hold{};
  hold.granted_at = hold.owned_since = first_moment;
  hold.terms =
      std::make_shared<Terms>(Terms{.lease = lease, .label = "test", .min_hold = min_hold});
  return hold;
}

TEST(Keeping, IsDueUntilTheHoldIsOldEnough) {
  EXPECT_FALSE(Keeping::due(hold(0ms), first_moment));
  EXPECT_TRUE(Keeping::due(hold(10s), first_moment));
  EXPECT_TRUE(Keeping::due(hold(10s), first_moment + 10s - 1ns));
  EXPECT_FALSE(Keeping::due(hold(10s), first_moment + 10s));
}

TEST(Keeping, CountsFromTheOwnersBeginning) {
  Hold passed = hold(10s);
  passed.owned_since = first_moment + 5s;
  EXPECT_TRUE(Keeping::due(passed, first_moment + 14s));
  EXPECT_EQ(Keeping(passed).until(), first_moment + 15s);
}

// Promise: M1
TEST(Keeping, AsksForWhatIsLeftAndTheDriftSinceTheGrant) {
  const Keeping keeping(hold(600s));
  EXPECT_EQ(keeping.lease(first_moment), 600s + 600ms);
  EXPECT_EQ(keeping.lease(first_moment + 100s), 500s + 600ms);
}

// Promise: M1
TEST(Keeping, EndsByTheSlowerOfTheClocks) {
  EXPECT_EQ(Keeping(hold(600s)).ends(), first_moment + 600s + 600ms);
}

TEST(Keeping, RoundsUp) {
  EXPECT_EQ(Keeping(hold(600s)).lease(first_moment + 1ns), 600s + 600ms);
  EXPECT_EQ(Keeping(hold(600s)).lease(first_moment + 1ms - 1ns), 600s + 600ms);
  EXPECT_EQ(Keeping(hold(600s)).lease(first_moment + 1ms), 600s + 599ms);
}

TEST(Keeping, GivesTheServerTimeToAnswer) {
  EXPECT_EQ(Keeping(hold(10s)).lease(first_moment + 10s - 1ms), 1s);
  EXPECT_EQ(Keeping(hold(10s, 300ms)).lease(first_moment + 10s - 1ms), 300ms);
  EXPECT_EQ(Keeping(hold(10s)).lease(first_moment + 20s), 1s) << "it is said again, too late";
}

}  // namespace
}  // namespace mortise::core
