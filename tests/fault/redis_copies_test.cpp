// SPDX-License-Identifier: MIT
// Goal: what arrives late, after its attempt was sent again on a newer connection, changes nothing,
// in every order of requests, and only that is refused. Method: scripts, with the epochs of the
// connections that they would come by. The same through the library: redis_late_copy_test.cpp.
#include "fault/redis_script.hpp"

namespace mortise::fault {
namespace {

constexpr const char* late = "R";

class RedisCopies : public RedisScriptTest {
 protected:
  /// What was sent of it before this epoch is late from now on.
  void bury(char client, int epoch = 2) {
    ASSERT_TRUE(cancel(client, "f1", epoch).starts_with("B"));
  }
};

TEST_F(RedisCopies, AreTheOlderOnesOfThatAttempt) {
  bury('a', 3);
  EXPECT_EQ(acquire('a', {.epoch = 1}), late);
  EXPECT_EQ(acquire('a', {.epoch = 2}), late);
  EXPECT_TRUE(acquire('b', {.epoch = 1}).starts_with("G")) << "another client counts by itself";
  ASSERT_EQ(release(), "F");
  EXPECT_TRUE(acquire('a', {.epoch = 3}).starts_with("G")) << "by the connection that it went by";
}

TEST_F(RedisCopies, OfSeveralAttemptsAreKnown) {
  bury('a');
  bury('b', 5);
  EXPECT_EQ(acquire('a'), late);
  EXPECT_EQ(acquire('b', {.epoch = 4}), late);
}

TEST_F(RedisCopies, OfAHoldAreRefusedAfterItsRelease) {
  ASSERT_TRUE(acquire('a', {.flags = "f11", .epoch = 2}).starts_with("G"));
  ASSERT_EQ(release("f0", 2), "F");
  EXPECT_EQ(acquire('a'), late);
  // Here it is the release that tells of them.
  ASSERT_TRUE(acquire('b').starts_with("G"));
  ASSERT_EQ(release("f1", 2), "F");
  EXPECT_EQ(acquire('b'), late);
}

// The quick way to take a lock does not look for them: what closes it must not be lost.
TEST_F(RedisCopies, AreRefusedAfterAHandOver) {
  const RedisTalk hears = listen("bc");
  bury('z');
  ASSERT_TRUE(acquire('a').starts_with("G"));
  ASSERT_TRUE(acquire('b').starts_with("Q"));
  ASSERT_TRUE(acquire('c').starts_with("Q"));
  ASSERT_EQ(release(), "F");
  ASSERT_TRUE(holds('b'));
  ASSERT_EQ(release(), "F");
  ASSERT_TRUE(holds('c'));
  ASSERT_EQ(release(), "F");
  EXPECT_EQ(acquire('z'), late);
  EXPECT_FALSE(is_held("a"));
}

TEST_F(RedisCopies, OfASuccessorAreRefused) {
  const auto release_to = [&](char successor, const std::string& flags, int epoch) {
    return call(redis::scripts::release,
                {get("o"), flags, std::to_string(epoch), attempt(successor), "30000", "label"});
  };
  bury('b', 3);
  ASSERT_TRUE(acquire('a').starts_with("G"));
  EXPECT_EQ(release_to('b', "f010", 2), "F R");
  EXPECT_FALSE(is_held("a"));
  ASSERT_TRUE(acquire('a').starts_with("G"));
  EXPECT_TRUE(release_to('c', "f011", 2).starts_with("F G"));
  ASSERT_EQ(release("f0", 2), "F");
  EXPECT_EQ(acquire('c'), late);
}

TEST_F(RedisCopies, AreForgottenAfterAMinuteAndWithThemTheSlowWay) {
  bury('a');
  const std::string mark = get("x");
  set("x", attempt('a') + " 2 1000000;");
  ASSERT_TRUE(acquire('b').starts_with("G"));
  EXPECT_EQ(get("x"), "");
  EXPECT_EQ(get("w"), "");
  set("x", mark);
  ASSERT_TRUE(acquire('b', {.flags = "u01"}).starts_with("G"));
  EXPECT_EQ(get("x"), mark) << "it is not yet a minute old";
}

TEST_F(RedisCopies, ThatAreAMinuteOldMakeRoomForNewOnes) {
  bury('a');
  set("x", attempt('a') + " 2 1000000;");
  bury('b');
  EXPECT_THAT(get("x"), Not(HasSubstr(attempt('a'))));
  EXPECT_THAT(get("x"), HasSubstr(attempt('b')));
}

}  // namespace
}  // namespace mortise::fault
