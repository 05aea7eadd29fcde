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
    words[5] += " importing";
    return word_of(call(redis::scripts::acquire, words));
  }
  Held reads(char client) {
    const auto answer = understood(call(redis::scripts::acquire, asking(attempt(client), {}, 'r')));
    EXPECT_EQ(answer.kind, redis::Answer::Kind::granted);
    return {attempt(client), std::to_string(answer.number)};
  }
  RedisAnswer releases(const Held& hold) {
    return server().talk().command(
        command("EVAL", std::string(redis::scripts::release.text),
                {hold.attempt, hold.number, life_of_next, "fair importing"}));
  }
  Held reads_on_the_way(char client) {
    RedisTalk::Command words = asking(attempt(client), {}, 'r');
    words[5] += " importing";
    const auto answer = understood(call(redis::scripts::acquire, words));
    EXPECT_EQ(answer.kind, redis::Answer::Kind::granted);
    return {attempt(client), std::to_string(answer.number)};
  }
  RedisAnswer cancels(char client) {
    return server().talk().command(command("EVAL", std::string(redis::scripts::cancel.text),
                                           {attempt(client), life_of_next, "importing"}));
  }
  long long renews(const Held& hold) {
    return call(redis::scripts::renew,
                {"importing", hold.attempt, hold.number, "30000", std::to_string(30'000 + hour)})
        .items.at(2)
        .integer;
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
  for (const char* which : {":readers", ":reader_info"}) {
    const Held hold = reads('a');
    ASSERT_NO_FATAL_FAILURE(lacks(which));
    EXPECT_EQ(asks('b', 'r'), "resharding") << which;
    EXPECT_EQ(asks('c', 'w'), "resharding") << which;
    EXPECT_EQ(asks('c', 'w', false), "busy") << which;
    EXPECT_EQ(renews(hold), 3) << which;
    EXPECT_THAT(releases(hold).text, testing::HasSubstr("TRYAGAIN")) << which;
    ASSERT_NO_FATAL_FAILURE(comes(which));
    EXPECT_EQ(renews(hold), 1) << which;
    EXPECT_EQ(word_of(releases(hold)), "released") << which;
  }
}

// Promise: S1
TEST_F(RedisOnItsWay, ALockWhoseReadersHaveNotComeIsNotEndedByForce) {
  const Held hold = reads('a');
  for (const char* which : {":readers", ":reader_info"}) {
    ASSERT_NO_FATAL_FAILURE(lacks(which));
    const RedisAnswer answer =
        server().talk().command(command("EVAL", std::string(redis::scripts::force_release.text),
                                        {hold.number, life_of_next, "importing"}));
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
  EXPECT_EQ(asks('c', 'w'), "resharding");
  EXPECT_EQ(word_of(releases(hold())), "released");
  EXPECT_EQ(asks('d', 'w', false), "granted");
  ASSERT_NO_FATAL_FAILURE(comes(":queue"));
  EXPECT_TRUE(has("readers_until"));
  EXPECT_EQ(asks('c', 'w'), "queued");
  EXPECT_EQ(release(), "released");
  EXPECT_TRUE(holds('b'));
}

// Promise: L5
TEST_F(RedisOnItsWay, AQueueWhoseWaitersHaveNotComeKeepsItsOrder) {
  RedisTalk hears = listen("bc");
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_EQ(acquire('b'), "queued");
  ASSERT_EQ(acquire('c'), "queued");
  ASSERT_NO_FATAL_FAILURE(lacks(":waiters"));
  EXPECT_EQ(asks('c', 'w'), "resharding");
  EXPECT_EQ(word_of(releases(hold())), "released");
  EXPECT_EQ(asks('d', 'w', false), "granted") << "as if there were no queue";
  EXPECT_EQ(waiting("a"), 2U);
  ASSERT_NO_FATAL_FAILURE(comes(":waiters"));
  EXPECT_EQ(release(), "released");
  EXPECT_TRUE(holds('b'));
  EXPECT_EQ(waiting("a"), 1U);
}

// The reader asked, and got the lock, while its place was at the other server.
// Promise: S1
TEST_F(RedisOnItsWay, AReaderWhosePlaceComesAfterItsGrantKeepsItsHold) {
  RedisTalk hears = listen("bcd");
  EXPECT_EQ(word_of(releases(reads('e'))), "released") << "both keys of readers are here";
  ASSERT_EQ(acquire('a'), "granted");
  for (const char each : {'b', 'c'}) {
    ASSERT_EQ(word_of(call(redis::scripts::acquire, asking(attempt(each), {}, 'r'))), "queued");
  }
  ASSERT_NO_FATAL_FAILURE(lacks(":queue"));
  EXPECT_EQ(word_of(releases(hold())), "released");
  const Held early = reads_on_the_way('b');
  ASSERT_NO_FATAL_FAILURE(comes(":queue"));
  EXPECT_EQ(asks('d', 'r'), "granted") << "each reader that waits is let in";
  EXPECT_EQ(waiting("a"), 0U);
  EXPECT_EQ(renew(early), 1);
  EXPECT_EQ(word_of(releases(early)), "released");
}

// One of the two keys is enough: a waiter without the other has no place.
// Promise: L3
TEST_F(RedisOnItsWay, AWaiterThatGivesUpLeavesTheKeysThatHaveCome) {
  const RedisTalk hears = listen("b");
  for (const char* which : {":queue", ":waiters"}) {
    ASSERT_EQ(acquire('a'), "granted");
    ASSERT_EQ(acquire('b'), "queued");
    ASSERT_NO_FATAL_FAILURE(lacks(which));
    EXPECT_EQ(word_of(cancels('b')), "busy") << which;
    EXPECT_EQ(word_of(cancels('a')), "granted") << which;
    ASSERT_NO_FATAL_FAILURE(comes(which));
    EXPECT_EQ(release(), "released");
    EXPECT_FALSE(holds('b')) << which;
  }
}

// The client has not learned of that hold, and gives it back when the answer names it.
// Promise: S5
TEST_F(RedisOnItsWay, AReaderThatGivesUpLearnsOfItsHold) {
  static_cast<void>(reads('a'));
  for (const char* which : {":readers", ":reader_info"}) {
    ASSERT_NO_FATAL_FAILURE(lacks(which));
    EXPECT_THAT(cancels('a').text, testing::HasSubstr("TRYAGAIN")) << which;
    ASSERT_NO_FATAL_FAILURE(comes(which));
  }
  EXPECT_EQ(word_of(cancels('a')), "granted");
}

TEST_F(RedisOnItsWay, APermitWaitsForTheOthersOfItsSemaphore) {
  const Held hold = reads('a');
  ASSERT_EQ(word_of(releases(hold)), "released");
  for (const char* which : {":readers", ":reader_info"}) {
    ASSERT_NO_FATAL_FAILURE(lacks(which));
    EXPECT_EQ(asks('b', 'r'), "resharding") << which;
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
