// SPDX-License-Identifier: MIT
// Goal: one who reads loses nothing when others join; and one of several is ended by force alone.
// Method: scripts, and what they leave in the lock.
#include "fault/redis_readers.hpp"
#include "redis/store/listing.hpp"

#include <string>

namespace mortise::fault {
namespace {

class RedisReadersAlone : public RedisReadersTest {
 protected:
  /// @return how many commands the server has executed for scripts and clients.
  [[nodiscard]] std::uint64_t commands() {
    const std::string text = server().talk().command({"INFO", "commandstats"}).text;
    std::uint64_t sum = 0;
    for (std::size_t at = 0; (at = text.find(":calls=", at)) != std::string::npos;) {
      at += std::string_view(":calls=").size();
      sum += std::stoull(text.substr(at));
    }
    return sum;
  }
};

TEST_F(RedisReadersAlone, LeaveThatTheyLetGo) {
  for (const char order : {'f', 'u'}) {
    ASSERT_EQ(read('a', {.order = order}), "granted");
    EXPECT_EQ(readers(), 1);
    EXPECT_EQ(prolong('a'), 1);
    EXPECT_EQ(leave('a', order), "released");
    EXPECT_EQ(readers(), 0);
    EXPECT_EQ(leave('a', order), "released_before");
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
  EXPECT_EQ(leave('b'), "released");
  EXPECT_EQ(leave('b'), "released_before");
  EXPECT_EQ(leave('a'), "released");
  EXPECT_EQ(leave('b'), "released_before");
  ASSERT_TRUE(reads('c'));
  EXPECT_EQ(release_of({attempt('c'), std::to_string(number_of('c') - 1)}), "not_held");
  EXPECT_EQ(leave('c'), "released");
  expect_free("a");
}

TEST_F(RedisReadersAlone, HandOverAsOwnersDo) {
  RedisTalk hears = listen("w");
  ASSERT_TRUE(reads('a'));
  ASSERT_EQ(acquire('w'), "queued");
  EXPECT_EQ(read('b'), "queued");
  EXPECT_EQ(leave('a'), "released");
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
  EXPECT_EQ(force(of), "released");
  EXPECT_EQ(hear(hears), said('S', 'b'));
  EXPECT_FALSE(hears.receive(100ms)) << "nobody else";
  EXPECT_EQ(prolong('a'), 1);
  EXPECT_EQ(prolong('b'), 0);
  EXPECT_EQ(prolong('c'), 1);
  EXPECT_EQ(force(of), "not_held") << "a copy";
  EXPECT_EQ(leave('b'), "not_held");
  EXPECT_EQ(leave('a'), "released");
  EXPECT_EQ(leave('c'), "released");
}

// A reply has no room for all of these readers.
// Promise: S3
TEST_F(RedisReadersAlone, AreFoundByTheirNumberAmongThousands) {
  ASSERT_TRUE(reads('a'));
  constexpr int others = 4'000;
  constexpr const char* fill =
      "for i = 1, 4000 do "
      "redis.call('ZADD', KEYS[1], ARGV[1] + i, 'x' .. i) "
      "redis.call('HSET', KEYS[2], 'x' .. i, string.format('%.0f', i), 'x' .. i .. ':label', "
      "string.rep('l', 60)) end "
      "redis.call('HSET', KEYS[3], 'readers_until', string.format('%.0f', ARGV[1] + 4000))";
  server().talk().command({"EVAL", fill, "3", at_ + ":readers", at_ + ":reader_info", at_,
                           std::to_string(server_time() + 20'000'000)});
  ASSERT_EQ(readers(), others + 1);
  for (const int each : {1, 3'500, others}) {
    const std::string of = std::to_string(each);
    const auto found = redis::parse_queue(reply_of(call(redis::scripts::queue, {"1", of})));
    ASSERT_TRUE(found);
    ASSERT_EQ(found->holders.size(), 1U) << each;
    EXPECT_EQ(found->holders[0].token, token_of(static_cast<std::uint64_t>(each)));
  }
  const auto some = redis::parse_queue(reply_of(call(redis::scripts::queue, {"1000", ""})));
  ASSERT_TRUE(some);
  EXPECT_EQ(some->holders.size(), 1'000U);
  const auto all = redis::parse_queue(reply_of(call(redis::scripts::queue, {"10000", ""})));
  ASSERT_TRUE(all);
  EXPECT_GT(all->holders.size(), 1'000U);
  EXPECT_LT(all->holders.size(), 2'000U) << "more than a client reads";
  // Each command costs other clients half a microsecond.
  const std::uint64_t before = commands();
  EXPECT_EQ(force("3500"), "released");
  EXPECT_LT(commands() - before, 60U);
  EXPECT_EQ(readers(), others);
  EXPECT_EQ(force("3500"), "not_held");
  EXPECT_EQ(prolong('a'), 1);
}

// Another client gets the lock at once, so the readers must learn of their loss.
TEST_F(RedisReadersAlone, WhoseKeyIsDeletedLearnSoFromTheirRenewal) {
  for (const char* const which : {":readers", ":reader_info", ""}) {
    server().talk().expect_ok({"FLUSHALL"});
    ASSERT_TRUE(reads('a'));
    ASSERT_EQ(prolong('a'), 1);
    server().talk().expect_ok({"DEL", at_ + which});
    EXPECT_EQ(prolong('a'), 0) << which;
    EXPECT_EQ(is_written('y'), std::string_view(which) != ":reader_info") << which;
  }
}

// A key that other software has put there costs its own holds only.
TEST_F(RedisReadersAlone, WhoseKeyIsReplacedLearnSoFromTheirRenewal) {
  for (const char* const which : {":readers", ":reader_info"}) {
    server().talk().expect_ok({"FLUSHALL"});
    ASSERT_TRUE(reads('a'));
    server().talk().expect_ok({"SET", at_ + which, "of other software"});
    EXPECT_EQ(prolong('a'), 0) << which;
  }
}

// The last one who came has gone, and the lock still has the number of that hold.
// Promise: S3
TEST_F(RedisReadersAlone, AreNotEndedWithOneThatHasGone) {
  for (const char each : {'a', 'b'}) ASSERT_TRUE(reads(each));
  const std::string of = std::to_string(number_of('b'));
  EXPECT_EQ(leave('b'), "released");
  EXPECT_EQ(force(of), "not_held");
  EXPECT_EQ(prolong('a'), 1);
  EXPECT_NE(acquire('w'), "granted");
  EXPECT_EQ(leave('a'), "released");
}

// The owner beside whose hold its client reads is ended, and it reads on; or the other way round.
TEST_F(RedisReadersAlone, AreNotEndedWithTheirOwner) {
  for (const bool owner : {true, false}) {
    ASSERT_EQ(acquire('x'), "granted");
    const Held its = hold();
    const std::uint64_t number_of_owner = number();
    ASSERT_EQ(read('a', {.own = attempt('x')}), "granted");
    const std::string of = std::to_string(owner ? number_of_owner : number_of('a'));
    EXPECT_EQ(force(of), "released");
    EXPECT_EQ(renew(its), owner ? 0 : 1);
    EXPECT_EQ(prolong('a'), owner ? 1 : 0);
    if (owner) {
      EXPECT_EQ(leave('a'), "released");
    } else {
      EXPECT_EQ(release_of(its), "released");
    }
    EXPECT_TRUE(is_written('y'));
  }
}

}  // namespace
}  // namespace mortise::fault
