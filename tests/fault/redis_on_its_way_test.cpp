// SPDX-License-Identifier: MIT
// Goal: while a slot of a cluster is on its way, the server that it comes to counts nothing as gone
// that may still come, and makes no key that would meet one. Each test takes keys away, as that
// server finds them, and asks as the library does behind ASKING.
#include "fault/redis_script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::fault {
namespace {

class RedisOnItsWay : public RedisScriptTest {
 protected:
  /// @param kind as acquire.lua lists it
  std::string asks(char client, char kind, bool waits = true) {
    RedisTalk::Command words = asking(attempt(client), {.waits = waits}, kind);
    words[5] += 'a';
    words[5].erase(3, 1);
    return word_of(call(redis::scripts::acquire, words));
  }
  Held reads(char client) {
    const auto answer = understood(call(redis::scripts::acquire, asking(attempt(client), {}, 'r')));
    EXPECT_EQ(answer.kind, redis::Answer::Kind::granted);
    return {attempt(client), std::to_string(answer.number)};
  }
  RedisAnswer releases(const Held& hold) {
    return server().talk().command(command("EVAL", std::string(redis::scripts::release.text),
                                           {hold.attempt, hold.number, life_of_next, "fa"}));
  }
  void lacks(const char* which) {
    ASSERT_EQ(server().talk().command({"RENAME", at_ + which, "elsewhere"}).text, "OK");
  }
  void comes(const char* which) {
    EXPECT_EQ(exists(which), 0) << "it would meet one: BUSYKEY";
    ASSERT_EQ(server().talk().command({"RENAME", "elsewhere", at_ + which}).text, "OK");
  }
  long long exists(const std::string& which) {
    return server().talk().command({"EXISTS", at_ + which}).integer;
  }
};

// Promise: S1
TEST_F(RedisOnItsWay, ALockWhoseReadersHaveNotComeIsHeld) {
  for (const char* which : {":readers", ":notes"}) {
    const Held hold = reads('a');
    ASSERT_NO_FATAL_FAILURE(lacks(which));
    EXPECT_EQ(asks('b', 'r'), "apart") << which;
    EXPECT_EQ(asks('c', 'w'), "apart") << which;
    EXPECT_EQ(asks('c', 'w', false), "busy") << which;
    EXPECT_EQ(renew(hold), 3) << which;
    EXPECT_THAT(releases(hold).text, testing::HasSubstr("TRYAGAIN")) << which;
    ASSERT_NO_FATAL_FAILURE(comes(which));
    EXPECT_EQ(renew(hold), 1) << which;
    EXPECT_EQ(word_of(releases(hold)), "freed") << which;
  }
}

// Promise: S1
TEST_F(RedisOnItsWay, ALockWhoseReadersHaveNotComeIsNotEndedByForce) {
  const Held hold = reads('a');
  for (const char* which : {":readers", ":notes"}) {
    ASSERT_NO_FATAL_FAILURE(lacks(which));
    const RedisAnswer answer = server().talk().command(command(
        "EVAL", std::string(redis::scripts::force_release.text), {hold.number, life_of_next, "a"}));
    EXPECT_THAT(answer.text, testing::HasSubstr("TRYAGAIN")) << which;
    ASSERT_NO_FATAL_FAILURE(comes(which));
  }
  EXPECT_EQ(renew(hold), 1);
}

// The queue of a lock that was released at the server that the slot comes to is still a queue.
// Promise: L5
TEST_F(RedisOnItsWay, AQueueThatHasNotComeKeepsItsOrder) {
  RedisTalk hears = listen("bc");
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_EQ(acquire('b'), "queued");
  ASSERT_EQ(acquire('c'), "queued");
  ASSERT_NO_FATAL_FAILURE(lacks(":queue"));
  EXPECT_EQ(asks('c', 'w'), "apart");
  EXPECT_EQ(word_of(releases(hold())), "freed");
  EXPECT_EQ(asks('d', 'w', false), "granted");
  ASSERT_NO_FATAL_FAILURE(comes(":queue"));
  EXPECT_TRUE(has("crowd"));
  EXPECT_EQ(asks('c', 'w'), "queued");
  EXPECT_EQ(release(), "freed");
  EXPECT_TRUE(holds('b'));
}

TEST_F(RedisOnItsWay, APermitWaitsForTheOthersOfItsSemaphore) {
  const Held hold = reads('a');
  ASSERT_EQ(word_of(releases(hold)), "freed");
  for (const char* which : {":readers", ":notes"}) {
    ASSERT_NO_FATAL_FAILURE(lacks(which));
    EXPECT_EQ(asks('b', 'r'), "apart") << which;
    ASSERT_NO_FATAL_FAILURE(comes(which));
  }
  EXPECT_EQ(asks('b', 'r'), "granted");
  EXPECT_EQ(asks('c', 'r'), "granted");
}

// A lock of which nothing is at either server.
TEST_F(RedisOnItsWay, ANewNameHasReadersAtOnce) {
  EXPECT_EQ(asks('a', 'r'), "granted");
  EXPECT_EQ(asks('b', 'r'), "granted");
}

}  // namespace
}  // namespace mortise::fault
