// SPDX-License-Identifier: MIT
// Goal: no more permits of a semaphore are held than there are, whichever way they were taken,
// freed and taken away. Method: scripts, and what they leave in the semaphore.
#include "fault/redis_readers.hpp"

#include <string>

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
  [[nodiscard]] bool takes(char client, int of) { return word_of(take(client, of)) == "granted"; }
};

TEST_F(RedisPermits, AreCountedHoweverTheFirstWasTaken) {
  for (const char order : {'f', 'u'}) {
    const Read tries{.order = order, .waits = false};
    const auto word = [&](char client) { return word_of(take(client, 2, tries)); };
    ASSERT_EQ(word('a'), "granted") << order;
    ASSERT_EQ(word('b'), "granted") << order;
    EXPECT_EQ(word('c'), "busy") << order;
    EXPECT_EQ(leave('a', order), "freed") << order;
    ASSERT_EQ(word('c'), "granted") << order;
    EXPECT_EQ(word('a'), "busy") << order;
    EXPECT_EQ(leave('b', order), "freed") << order;
    EXPECT_EQ(leave('c', order), "freed") << order;
  }
}

TEST_F(RedisPermits, OfAnotherNumberAreToldOnlyWhereAnybodyHasOne) {
  ASSERT_TRUE(takes('a', 2));
  const auto expect_unlike = [&](char client, int of, std::uint64_t there) {
    const redis::Answer answer = understood(take(client, of));
    EXPECT_EQ(answer.kind, redis::Answer::Kind::unlike);
    EXPECT_EQ(answer.permits, there);
  };
  expect_unlike('b', 3, 2);
  EXPECT_EQ(leave('a'), "freed");
  ASSERT_TRUE(takes('b', 3)) << "idle";
  expect_unlike('a', 2, 3);
  EXPECT_EQ(leave('b'), "freed");
  ASSERT_TRUE(takes('b', 3)) << "by the quick way";
  expect_unlike('a', 2, 3);
}

// Whoever waits and is not there at that moment is passed over, and let in by the next script.
TEST_F(RedisPermits, AreNoMoreAfterAllWereTakenAwayByForce) {
  ASSERT_TRUE(takes('a', 2));
  ASSERT_TRUE(takes('b', 2));
  for (const char each : {'c', 'd', 'e', 'f'}) ASSERT_EQ(word_of(take(each, 2)), "queued");
  for (const char each : {'a', 'b'}) EXPECT_EQ(force(std::to_string(number_of(each))), "freed");
  RedisTalk hears = listen("cdef");
  EXPECT_EQ(cancel('f'), "busy");
  EXPECT_EQ(hear(hears), said('G', 'c'));
  EXPECT_EQ(hear(hears), said('G', 'd'));
  EXPECT_FALSE(hears.receive(100ms)) << "there are two";
  EXPECT_EQ(word_of(take('e', 2)), "queued");
  EXPECT_EQ(leave('c'), "freed");
  EXPECT_EQ(hear(hears), said('G', 'e'));
}

}  // namespace
}  // namespace mortise::fault
