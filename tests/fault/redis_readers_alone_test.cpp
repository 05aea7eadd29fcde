// SPDX-License-Identifier: MIT
// Goal: one who reads alone costs what an owner costs, and loses nothing when others join; and one
// of several is ended by force alone. Method: scripts, and what they leave in the lock.
#include "fault/redis_readers.hpp"

#include <string>

namespace mortise::fault {
namespace {

using ::testing::ElementsAre;

class RedisReadersAlone : public RedisReadersTest {};

// So it costs what an owner costs. By flags: the quick ways, and the long ones.
TEST_F(RedisReadersAlone, AreNotedAsOwners) {
  for (const std::string mode : {"f", "u"}) {
    ASSERT_TRUE(read('a', {.flags = mode + "01s"}).starts_with("G")) << mode;
    EXPECT_THAT(fields(), ElementsAre("g", "o")) << mode;
    EXPECT_EQ(get("g"), "30000");
    EXPECT_TRUE(get("o").ends_with(" *" + attempt('a') + " reads")) << get("o");
    EXPECT_EQ(prolong('a'), "1");
    EXPECT_THAT(fields(), ElementsAre("g", "o")) << mode;
    EXPECT_GT(end_of('a'), 0);
    EXPECT_EQ(leave('a', mode + "0"), "F") << mode;
    EXPECT_THAT(fields(), ElementsAre("o")) << mode;
    EXPECT_EQ(leave('a', mode + "0"), "A") << mode;
    EXPECT_GT(life(), hour);
  }
}

TEST_F(RedisReadersAlone, ThatAreJoinedKeepWhatTheyHave) {
  ASSERT_TRUE(read('a', {.lease = 20'000}).starts_with("G"));
  const std::int64_t its = end_of('a');
  const std::uint64_t number = number_of('a');
  ASSERT_TRUE(read('b', {.lease = 10'000}).starts_with("G"));
  EXPECT_NEAR(static_cast<double>(end_of('a')), static_cast<double>(its), 1'000) << "rounded";
  EXPECT_EQ(get("@" + attempt('a')), "reads");
  ASSERT_TRUE(reads('a')) << "a copy";
  EXPECT_EQ(number_of('a'), number);
  EXPECT_EQ(leave('b'), "F");
  EXPECT_EQ(leave('b'), "A") << "that others have been there is known as long as it reads";
  EXPECT_EQ(leave('a'), "F");
  EXPECT_EQ(leave('b'), "A");
  // What is left of them says nothing of who comes now.
  ASSERT_TRUE(reads('c'));
  EXPECT_TRUE(reads_alone('c'));
  EXPECT_EQ(call(redis::scripts::release, {hold_text(attempt('c'), number_of('c') - 1), "f0", "1"}),
            "N");
  EXPECT_EQ(leave('b'), "N");
  EXPECT_EQ(leave('c'), "F");
  expect_free("a");
}

TEST_F(RedisReadersAlone, HandOverAsOwnersDo) {
  RedisTalk hears = listen("w");
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(acquire('w').starts_with("Q"));
  EXPECT_TRUE(read('b').starts_with("Q"));
  EXPECT_EQ(leave('a'), "F");
  EXPECT_EQ(hear(hears), said('G', 'w'));
  EXPECT_TRUE(owns('w'));
  EXPECT_EQ(leave('a'), "N");
}

// Promise: S3
TEST_F(RedisReadersAlone, AreEndedByForceWhereTheyAreMeant) {
  RedisTalk hears = listen("abc");
  for (const char each : {'a', 'b', 'c'}) ASSERT_TRUE(reads(each));
  const std::string of = std::to_string(number_of('b'));
  const auto found = redis::Answer::parse(call(redis::scripts::inspect, {"", "f", of}));
  ASSERT_TRUE(found && found->holder());
  EXPECT_EQ(found->holder_number, number_of('b'));
  EXPECT_EQ(call(redis::scripts::force_release, {"", "f", of, "1"}).front(), 'O');
  EXPECT_EQ(hear(hears), said('S', 'b'));
  EXPECT_FALSE(hears.receive(100ms)) << "nobody else";
  EXPECT_EQ(prolong('a'), "1");
  EXPECT_EQ(prolong('b'), "0");
  EXPECT_EQ(prolong('c'), "1");
  EXPECT_EQ(call(redis::scripts::force_release, {"", "f", of, "1"}).front(), 'E') << "a copy";
  EXPECT_EQ(leave('b'), "N");
  EXPECT_EQ(leave('a'), "F");
  EXPECT_EQ(leave('c'), "F");
}

// The last one who came has gone, and the lock still has the number of that hold.
// Promise: S3
TEST_F(RedisReadersAlone, AreNotEndedWithOneThatHasGone) {
  for (const char each : {'a', 'b'}) ASSERT_TRUE(reads(each));
  const std::string of = std::to_string(number_of('b'));
  EXPECT_EQ(leave('b'), "F");
  EXPECT_EQ(call(redis::scripts::force_release, {"", "f", of, "1"}).front(), 'E');
  EXPECT_EQ(prolong('a'), "1");
  EXPECT_FALSE(acquire('w').starts_with("G"));
  EXPECT_EQ(leave('a'), "F");
}

// The owner beside whose hold its client reads is ended, and it reads on; or the other way round.
TEST_F(RedisReadersAlone, AreNotEndedWithTheirOwner) {
  for (const bool owner : {true, false}) {
    ASSERT_TRUE(acquire('x').starts_with("G"));
    const std::string its = hold();
    const std::uint64_t number_of_owner = number();
    ASSERT_TRUE(read('a', {.own = attempt('x')}).starts_with("G"));
    const std::string of = std::to_string(owner ? number_of_owner : number_of('a'));
    EXPECT_EQ(call(redis::scripts::force_release, {"", "f", of, "1"}).front(), 'O');
    EXPECT_EQ(renew(its), owner ? "0" : "1");
    EXPECT_EQ(prolong('a'), owner ? "1" : "0");
    if (owner) {
      EXPECT_EQ(leave('a'), "F");
    } else {
      EXPECT_EQ(call(redis::scripts::release, {its, "f0", "1"}), "F");
    }
    EXPECT_TRUE(is_written('y'));
  }
}

}  // namespace
}  // namespace mortise::fault
