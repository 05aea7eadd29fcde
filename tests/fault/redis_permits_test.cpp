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
  std::string take(char client, int of, const std::string& flags = "f01p") {
    return note(attempt(client),
                call(redis::scripts::acquire,
                     {attempt(client), flags, "1", "30000", "holds", std::to_string(of)}));
  }
  [[nodiscard]] bool takes(char client, int of) { return take(client, of).starts_with("G"); }
};

// By flags: the quick ways, and the long ones.
TEST_F(RedisPermits, AreCountedHoweverTheFirstWasTaken) {
  for (const std::string mode : {"f", "u"}) {
    ASSERT_TRUE(take('a', 2, mode + "00p").starts_with("G")) << mode;
    ASSERT_TRUE(take('b', 2, mode + "00p").starts_with("G")) << mode;
    EXPECT_TRUE(take('c', 2, mode + "00p").starts_with("B")) << mode;
    EXPECT_EQ(leave('a', mode + "0"), "F") << mode;
    ASSERT_TRUE(take('c', 2, mode + "00p").starts_with("G")) << mode;
    EXPECT_TRUE(take('a', 2, mode + "00p").starts_with("B")) << mode;
    EXPECT_EQ(leave('b', mode + "0"), "F") << mode;
    EXPECT_EQ(leave('c', mode + "0"), "F") << mode;
  }
}

TEST_F(RedisPermits, OfAnotherNumberAreToldOnlyWhereAnybodyHasOne) {
  ASSERT_TRUE(takes('a', 2));
  EXPECT_EQ(take('b', 3), "N 2");
  EXPECT_EQ(leave('a'), "F");
  ASSERT_TRUE(takes('b', 3)) << "idle";
  EXPECT_EQ(take('a', 2), "N 3");
  EXPECT_EQ(leave('b'), "F");
  ASSERT_TRUE(takes('b', 3)) << "by the quick way";
  EXPECT_EQ(take('a', 2), "N 3");
}

// Whoever waits and is not there at that moment is passed over, and let in by the next script. What
// is noted of the owner then tells of nobody who holds one.
TEST_F(RedisPermits, AreNoMoreAfterAllWereTakenAwayByForce) {
  ASSERT_TRUE(takes('a', 2));
  ASSERT_TRUE(takes('b', 2));
  for (const char each : {'c', 'd', 'e', 'f'}) ASSERT_TRUE(take(each, 2).starts_with("Q"));
  EXPECT_EQ(force().front(), 'O');
  RedisTalk hears = listen("cdef");
  EXPECT_EQ(cancel('f').front(), 'B');
  EXPECT_EQ(hear(hears), said('G', 'c'));
  EXPECT_EQ(hear(hears), said('G', 'd'));
  EXPECT_FALSE(hears.receive(100ms)) << "there are two";
  EXPECT_TRUE(take('e', 2).starts_with("Q"));
  EXPECT_EQ(leave('c'), "F");
  EXPECT_EQ(hear(hears), said('G', 'e'));
}

}  // namespace
}  // namespace mortise::fault
