// SPDX-License-Identifier: MIT
// Goal: in the mode with Redisson a lock's two keys say the same after every script, also where one
// of them was ended by force, and whoever may wait on the other side is told. Method: scripts, and
// Redisson's key and channel. Both sides at work: redis_modes_test.cpp.
#include "fault/redis_script.hpp"

namespace mortise::fault {
namespace {

class RedisRedisson : public RedisScriptTest {
 protected:
  static constexpr const char* channel = "redisson_lock__channel:{a}";

  std::string take(char client) { return acquire(client, {.flags = "r01"}); }
  std::string force() { return call(redis::scripts::force_release, {"", "r"}); }
  [[nodiscard]] std::string their_fields() {
    return server().talk().command({"HKEYS", "a"}).words();
  }
  void theirs() {
    server().talk().expect_ok({"HSET", "a", "java:1", "1"});
    server().talk().expect_ok({"PEXPIRE", "a", "30000"});
  }
  [[nodiscard]] RedisTalk java() {
    RedisTalk talk = server().talk();
    talk.expect_ok({"SUBSCRIBE", channel});
    return talk;
  }
};

TEST_F(RedisRedisson, LosesAHoldWhoseKeyTheyEnded) {
  ASSERT_TRUE(take('a').starts_with("G"));
  const std::string hold = get("o");
  server().talk().expect_ok({"DEL", "a"});
  EXPECT_EQ(renew(hold, 30'000, "r"), "0");
  EXPECT_EQ(server().talk().command({"EXISTS", "a"}).integer, 0);
  theirs();
  EXPECT_EQ(renew(hold, 30'000, "r"), "0");
  EXPECT_TRUE(take('a').starts_with("Q"));
}

TEST_F(RedisRedisson, FindsNothingOfALapsedHold) {
  ASSERT_TRUE(take('a').starts_with("G"));
  lapse();
  ASSERT_TRUE(take('b').starts_with("G"));
  EXPECT_THAT(their_fields(), Not(HasSubstr(attempt('a'))));
  EXPECT_THAT(their_fields(), HasSubstr(attempt('b')));
}

TEST_F(RedisRedisson, LosesItsHoldByForce) {
  RedisTalk inbox = listen("b");
  theirs();
  ASSERT_TRUE(take('b').starts_with("Q"));
  EXPECT_TRUE(force().starts_with("O"));
  EXPECT_THAT(their_fields(), Not(HasSubstr("java")));
  EXPECT_TRUE(owns('b')) << "the next of our queue";
  EXPECT_TRUE(inbox.receive(patience));
}

TEST_F(RedisRedisson, HearsOfAReleaseByForce) {
  RedisTalk waits = java();
  theirs();
  EXPECT_TRUE(force().starts_with("O"));
  EXPECT_TRUE(waits.receive(patience)) << "of their hold";
  ASSERT_TRUE(take('a').starts_with("G"));
  EXPECT_TRUE(force().starts_with("O"));
  EXPECT_EQ(server().talk().command({"EXISTS", "a"}).integer, 0);
  EXPECT_TRUE(waits.receive(patience)) << "of ours";
}

// The first of our queue is asked to look, fifteen times of sixteen he is given the lock.
TEST_F(RedisRedisson, HasItsTurnEachSixteenthRelease) {
  RedisTalk waits = java();
  const RedisTalk inboxes_of = listen("ab");
  ASSERT_TRUE(take('a').starts_with("G"));
  for (int i = 1; i < 16; ++i) {
    const char next = i % 2 == 1 ? 'b' : 'a';
    ASSERT_TRUE(take(next).starts_with("Q"));
    ASSERT_EQ(release("r0"), "F");
    EXPECT_TRUE(owns(next)) << i;
  }
  EXPECT_FALSE(waits.receive(std::chrono::milliseconds(50)));
  ASSERT_TRUE(take('a').starts_with("Q"));
  ASSERT_EQ(release("r0"), "F");
  EXPECT_EQ(server().talk().command({"EXISTS", "a"}).integer, 0);
  EXPECT_TRUE(waits.receive(patience));
}

}  // namespace
}  // namespace mortise::fault
