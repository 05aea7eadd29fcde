// SPDX-License-Identifier: MIT
// Goal: the key of a lock outlives each lease by an hour, however the lease began, since numbers
// grow only as long as it is there, and a hold stands only as long as it does; and every key ends
// some time. Method: scripts on keys whose time is nearly over.
#include "fault/redis_script.hpp"

namespace mortise::fault {
namespace {

class RedisKeyLife : public RedisScriptTest {
 protected:
  void expect_life(std::int64_t lease, const std::string& about) {
    EXPECT_GE(life(), lease + hour - 1'000) << about;
    EXPECT_LE(life(), lease + hour + 60'000) << about;
  }
  /// Redisson holds it.
  void theirs() {
    server().talk().expect_ok({"HSET", "a", "5e1f0000-0000-4000-8000-100000000001:1", "1"});
    server().talk().expect_ok({"PEXPIRE", "a", "30000"});
  }
};

TEST_F(RedisKeyLife, BeginsWithTheFirstHold) {
  for (const char order : {'f', 'u'}) {
    server().talk().expect_ok({"FLUSHALL"});
    ASSERT_EQ(acquire('a', {.order = order}), "granted");
    expect_life(30'000, std::string(1, order));
  }
}

// Each is longer than the time that a key is given for a short one.
TEST_F(RedisKeyLife, IsLongerThanALongLease) {
  constexpr std::int64_t lease = 10 * hour;
  ASSERT_EQ(acquire('a', {.lease = lease}), "granted");
  expect_life(lease, "acquired");
  server().talk().expect_ok({"FLUSHALL"});
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_EQ(renew(hold(), lease), 1);
  expect_life(lease, "renewed");
}

// Promise: S2
TEST_F(RedisKeyLife, IsProlongedByEachWayToHoldTheLock) {
  ASSERT_EQ(acquire('a'), "granted");
  for (const char order : {'f', 'u'}) {
    ASSERT_EQ(release(), "released");
    age();
    ASSERT_EQ(acquire('a', {.order = order}), "granted");
    expect_life(30'000, std::string(1, order));
  }
  age();
  ASSERT_EQ(renew(hold(), 2 * hour), 1);
  expect_life(2 * hour, "renewed");
}

// A rolling change of `remember`.
TEST_F(RedisKeyLife, IsLongEnoughForClientsThatRememberDifferently) {
  for (const std::int64_t first : {60'000, 7'200'000}) {
    for (const std::int64_t then : {60'000, 3'600'000, 7'200'000}) {
      server().talk().expect_ok({"FLUSHALL"});
      ASSERT_EQ(acquire('a', {.remembered = first}), "granted");
      ASSERT_EQ(release(), "released");
      ASSERT_EQ(acquire('b', {.lease = 900'000, .remembered = then}), "granted");
      EXPECT_GE(life(), 900'000 - 1'000 + then) << first << ", then " << then;
    }
  }
}

// And not the hour that nobody has asked for.
TEST_F(RedisKeyLife, IsAsShortAsItWasAskedFor) {
  ASSERT_EQ(acquire('a', {.remembered = 60'000}), "granted");
  EXPECT_LE(life(), 90'000);
  EXPECT_GT(life(), 80'000);
  age();
  ASSERT_EQ(renew(hold(), 30'000, false, 60'000), 1);
  EXPECT_LE(life(), 90'000);
  EXPECT_GT(life(), 80'000);
}

TEST_F(RedisKeyLife, IsProlongedByAHandOver) {
  const RedisTalk hears = listen("bc");
  ASSERT_EQ(acquire('a', {.lease = 1'000}), "granted") << "shorter than what is handed over";
  ASSERT_EQ(acquire('b'), "queued");
  age();
  ASSERT_EQ(release(), "released");
  ASSERT_TRUE(holds('b'));
  expect_life(2'000, "by a release");
  ASSERT_EQ(acquire('c'), "queued");
  age();
  lapse();
  ASSERT_EQ(acquire('d', {.waits = false}), "busy");
  ASSERT_TRUE(holds('c'));
  expect_life(2'000, "of a lapsed lock");
}

// The client that releases it has a smaller `remember` than the one that took it. Promise: S2
TEST_F(RedisKeyLife, IsNotShortenedByAHandOver) {
  const RedisTalk hears = listen("b");
  ASSERT_EQ(acquire('a', {.lease = 1'000, .remembered = 2 * hour}), "granted");
  ASSERT_EQ(acquire('b'), "queued");
  ASSERT_EQ(release(), "released");
  ASSERT_TRUE(holds('b'));
  EXPECT_GE(life(), 2 * hour - 1'000);
}

// Else it would end before, and later numbers be smaller.
// Promise: S2
TEST_F(RedisKeyLife, LastsUntilTheClockHasComeToTheLastNumber) {
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_EQ(release(), "released");
  set_ahead('a');
  ASSERT_EQ(acquire('b'), "granted");
  EXPECT_GT(life(), 50 * 365 * 24 * hour);
}

// A waiter makes it, and an administrator, while Redisson holds the lock.
TEST_F(RedisKeyLife, EndsWhereNobodyEverHeldTheLock) {
  theirs();
  ASSERT_EQ(acquire('a', {.keyed = true}), "queued");
  EXPECT_GT(life(), hour);
  EXPECT_GT(life(key("a") + ":queue"), 0);
  EXPECT_GT(life(key("a") + ":waiters"), 0);
  server().talk().expect_ok({"FLUSHALL"});
  theirs();
  ASSERT_EQ(force_holder(true), "released");
  EXPECT_GT(life(), hour - 60'000);
}

TEST_F(RedisKeyLife, OfRedissonsKeyIsTheLease) {
  ASSERT_EQ(acquire('a', {.keyed = true, .lease = 10'000}), "granted");
  EXPECT_GT(life("a"), 5'000);
  EXPECT_LE(life("a"), 10'000);
  ASSERT_EQ(renew(hold(), 60'000, true), 1);
  EXPECT_GT(life("a"), 50'000);
  EXPECT_LE(life("a"), 60'000);
}

}  // namespace
}  // namespace mortise::fault
