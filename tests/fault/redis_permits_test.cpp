// SPDX-License-Identifier: MIT
// Goal: no more permits of a semaphore are held than there are, whichever way they were taken,
// freed and taken away. Method: scripts, and what they leave in the semaphore.
#include "fault/redis_readers.hpp"

#include <string>
#include <utility>

namespace mortise::fault {
namespace {

class RedisPermits : public RedisReadersTest {
 protected:
  RedisPermits() { at_ = "mortise:{a}#"; }
  RedisAnswer take(char client, int of, const Read& how) {
    RedisTalk::Command words = reading(attempt(client), how);
    words.insert(words.end(), {"", std::to_string(of)});
    return note(attempt(client), call(redis::scripts::acquire, words));
  }
  RedisAnswer take(char client, int of) { return take(client, of, {}); }
  /// Ends a hold, and takes a permit for another attempt of the same client.
  /// @return the answers to both
  std::pair<std::string, redis::Answer> pass(const Held& hold, char next, int of) {
    RedisTalk::Command words = releasing(hold);
    const RedisTalk::Command its = reading(attempt(next), {});
    words.insert(words.end(), its.begin(), its.end());
    words.insert(words.end(), {"", std::to_string(of)});
    const RedisAnswer answer = call(redis::scripts::release, words);
    return {word_of(answer), understood(note(attempt(next), answer.items.at(2)))};
  }
  [[nodiscard]] bool takes(char client, int of) { return word_of(take(client, of)) == "granted"; }
};

TEST_F(RedisPermits, AreCountedHoweverTheFirstWasTaken) {
  for (const char order : {'f', 'u'}) {
    const Read tries{.order = order, .waits = false};
    const auto word = [&](char client) { return word_of(take(client, 2, tries)); };
    ASSERT_EQ(word('a'), "granted") << order;
    ASSERT_EQ(word('b'), "granted") << order;
    EXPECT_EQ(word('c'), "busy") << order;
    EXPECT_EQ(leave('a', order), "released") << order;
    ASSERT_EQ(word('c'), "granted") << order;
    EXPECT_EQ(word('a'), "busy") << order;
    EXPECT_EQ(leave('b', order), "released") << order;
    EXPECT_EQ(leave('c', order), "released") << order;
  }
}

TEST_F(RedisPermits, OfAnotherNumberAreToldOnlyWhereAnybodyHasOne) {
  ASSERT_TRUE(takes('a', 2));
  const auto expect_unlike = [&](char client, int of, std::uint64_t there) {
    const redis::Answer answer = understood(take(client, of));
    EXPECT_EQ(answer.kind, redis::Answer::Kind::permits_differ);
    EXPECT_EQ(answer.permits, there);
  };
  expect_unlike('b', 3, 2);
  EXPECT_EQ(leave('a'), "released");
  ASSERT_TRUE(takes('b', 3)) << "idle";
  expect_unlike('a', 2, 3);
  EXPECT_EQ(leave('b'), "released");
  ASSERT_TRUE(takes('b', 3)) << "by the quick way";
  expect_unlike('a', 2, 3);
}

// The semaphore was deleted by hand while two clients had a permit and a successor each.
// Promise: S1
TEST_F(RedisPermits, OfSuccessorsAreCountedWhenTheSemaphoreIsGone) {
  ASSERT_TRUE(takes('a', 2));
  ASSERT_TRUE(takes('b', 2));
  server().talk().expect_ok({"FLUSHALL"});
  const auto first = pass(hold_of('a'), 'c', 1);
  EXPECT_EQ(first.first, "not_held");
  EXPECT_EQ(first.second.kind, redis::Answer::Kind::granted);
  EXPECT_EQ(get("permits"), "1");
  const auto second = pass(hold_of('b'), 'd', 1);
  EXPECT_EQ(second.first, "not_held");
  EXPECT_EQ(second.second.kind, redis::Answer::Kind::queued);
  EXPECT_EQ(readers(), 1);
}

TEST_F(RedisPermits, OfAnotherNumberAreNotGivenToASuccessor) {
  RedisTalk hears = listen("c");
  ASSERT_TRUE(takes('a', 2));
  ASSERT_TRUE(takes('b', 2));
  ASSERT_EQ(word_of(take('c', 2)), "queued");
  const auto answers = pass(hold_of('a'), 'd', 3);
  EXPECT_EQ(answers.first, "released");
  EXPECT_EQ(answers.second.kind, redis::Answer::Kind::permits_differ);
  EXPECT_EQ(answers.second.permits, 2U);
  EXPECT_EQ(hear(hears), said('G', 'c')) << "the release is complete";
}

// Whoever waits and is not there at that moment is passed over, and let in by the next script.
TEST_F(RedisPermits, AreNoMoreAfterAllWereTakenAwayByForce) {
  ASSERT_TRUE(takes('a', 2));
  ASSERT_TRUE(takes('b', 2));
  for (const char each : {'c', 'd', 'e', 'f'}) ASSERT_EQ(word_of(take(each, 2)), "queued");
  for (const char each : {'a', 'b'}) EXPECT_EQ(force(std::to_string(number_of(each))), "released");
  RedisTalk hears = listen("cdef");
  EXPECT_EQ(cancel('f'), "busy");
  EXPECT_EQ(hear(hears), said('G', 'c'));
  EXPECT_EQ(hear(hears), said('G', 'd'));
  EXPECT_FALSE(hears.receive(100ms)) << "there are two";
  EXPECT_EQ(word_of(take('e', 2)), "queued");
  EXPECT_EQ(leave('c'), "released");
  EXPECT_EQ(hear(hears), said('G', 'e'));
}

}  // namespace
}  // namespace mortise::fault
