// SPDX-License-Identifier: MIT
// Goal: one who reads loses nothing when others join; and one of several is ended by force alone.
// Method: scripts, and what they leave in the lock.
#include "fault/redis_readers.hpp"
#include "redis/listing.hpp"

#include <string>

namespace mortise::fault {
namespace {

class RedisReadersAlone : public RedisReadersTest {};

TEST_F(RedisReadersAlone, LeaveThatTheyLetGo) {
  for (const char order : {'f', 'u'}) {
    ASSERT_EQ(read('a', {.order = order}), "granted");
    EXPECT_EQ(readers(), 1);
    EXPECT_EQ(prolong('a'), 1);
    EXPECT_EQ(leave('a', order), "freed");
    EXPECT_EQ(readers(), 0);
    EXPECT_EQ(leave('a', order), "before");
    EXPECT_GT(life(), hour - 60'000);
  }
}

TEST_F(RedisReadersAlone, ThatAreJoinedKeepWhatTheyHave) {
  ASSERT_EQ(read('a', {.lease = 20'000}), "granted");
  const std::int64_t its = end_of('a');
  const std::uint64_t number = number_of('a');
  ASSERT_EQ(read('b', {.lease = 10'000}), "granted");
  EXPECT_EQ(end_of('a'), its);
  ASSERT_TRUE(reads('a')) << "a copy";
  EXPECT_EQ(number_of('a'), number);
  EXPECT_EQ(leave('b'), "freed");
  EXPECT_EQ(leave('b'), "before");
  EXPECT_EQ(leave('a'), "freed");
  EXPECT_EQ(leave('b'), "before");
  ASSERT_TRUE(reads('c'));
  EXPECT_EQ(release_of({attempt('c'), std::to_string(number_of('c') - 1)}), "none");
  EXPECT_EQ(leave('c'), "freed");
  expect_free("a");
}

TEST_F(RedisReadersAlone, HandOverAsOwnersDo) {
  RedisTalk hears = listen("w");
  ASSERT_TRUE(reads('a'));
  ASSERT_EQ(acquire('w'), "queued");
  EXPECT_EQ(read('b'), "queued");
  EXPECT_EQ(leave('a'), "freed");
  EXPECT_EQ(hear(hears), said('G', 'w'));
  EXPECT_TRUE(owns('w'));
}

// Promise: S3
TEST_F(RedisReadersAlone, AreEndedByForceWhereTheyAreMeant) {
  RedisTalk hears = listen("abc");
  for (const char each : {'a', 'b', 'c'}) ASSERT_TRUE(reads(each));
  const std::string of = std::to_string(number_of('b'));
  const auto found = redis::parse_queue(reply_of(call(redis::scripts::queue, {"1", of})));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->holders.size(), 1U);
  EXPECT_EQ(found->holders[0].token, token_of(number_of('b')));
  EXPECT_EQ(force(of), "freed");
  EXPECT_EQ(hear(hears), said('S', 'b'));
  EXPECT_FALSE(hears.receive(100ms)) << "nobody else";
  EXPECT_EQ(prolong('a'), 1);
  EXPECT_EQ(prolong('b'), 0);
  EXPECT_EQ(prolong('c'), 1);
  EXPECT_EQ(force(of), "none") << "a copy";
  EXPECT_EQ(leave('b'), "none");
  EXPECT_EQ(leave('a'), "freed");
  EXPECT_EQ(leave('c'), "freed");
}

// The last one who came has gone, and the lock still has the number of that hold.
// Promise: S3
TEST_F(RedisReadersAlone, AreNotEndedWithOneThatHasGone) {
  for (const char each : {'a', 'b'}) ASSERT_TRUE(reads(each));
  const std::string of = std::to_string(number_of('b'));
  EXPECT_EQ(leave('b'), "freed");
  EXPECT_EQ(force(of), "none");
  EXPECT_EQ(prolong('a'), 1);
  EXPECT_NE(acquire('w'), "granted");
  EXPECT_EQ(leave('a'), "freed");
}

// The owner beside whose hold its client reads is ended, and it reads on; or the other way round.
TEST_F(RedisReadersAlone, AreNotEndedWithTheirOwner) {
  for (const bool owner : {true, false}) {
    ASSERT_EQ(acquire('x'), "granted");
    const Held its = hold();
    const std::uint64_t number_of_owner = number();
    ASSERT_EQ(read('a', {.own = attempt('x')}), "granted");
    const std::string of = std::to_string(owner ? number_of_owner : number_of('a'));
    EXPECT_EQ(force(of), "freed");
    EXPECT_EQ(renew(its), owner ? 0 : 1);
    EXPECT_EQ(prolong('a'), owner ? 1 : 0);
    if (owner) {
      EXPECT_EQ(leave('a'), "freed");
    } else {
      EXPECT_EQ(release_of(its), "freed");
    }
    EXPECT_TRUE(is_written('y'));
  }
}

}  // namespace
}  // namespace mortise::fault
