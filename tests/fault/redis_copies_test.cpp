// SPDX-License-Identifier: MIT
// Goal: what arrives late, after its attempt was sent again on a newer connection, changes nothing,
// in every order of requests, and only that is refused. Method: scripts, with the epochs of the
// connections that they would come by. The same through the library: redis_late_copy_test.cpp.
#include "fault/redis_script.hpp"

namespace mortise::fault {
namespace {

using ::testing::SizeIs;

constexpr const char* refused_late = "R";

class RedisCopies : public RedisScriptTest {
 protected:
  /// What was sent of it before this epoch is late from now on.
  void refuse_older(char client, int epoch = 2) {
    ASSERT_TRUE(cancel(client, "f1", epoch).starts_with("B"));
  }
  /// What tells of late copies of the first that was refused has had its time.
  void a_minute_later(char client) {
    set("!0", attempt(client) + " 1000000");
    set("!" + attempt(client), "2 1000000");
  }
  [[nodiscard]] std::vector<std::string> marks() {
    std::vector<std::string> fields;
    for (const RedisAnswer& one : server().talk().command({"HKEYS", key("a")}).items) {
      if (one.text.starts_with('!')) fields.push_back(one.text);
    }
    return fields;
  }
};

TEST_F(RedisCopies, AreTheOlderOnesOfThatAttempt) {
  refuse_older('a', 3);
  EXPECT_EQ(acquire('a', {.epoch = 1}), refused_late);
  EXPECT_EQ(acquire('a', {.epoch = 2}), refused_late);
  EXPECT_TRUE(acquire('b', {.epoch = 1}).starts_with("G")) << "another client counts by itself";
  ASSERT_EQ(release(), "F");
  EXPECT_TRUE(acquire('a', {.epoch = 3}).starts_with("G")) << "by the connection that it went by";
}

TEST_F(RedisCopies, OfSeveralAttemptsAreKnown) {
  refuse_older('a');
  refuse_older('b', 5);
  EXPECT_EQ(acquire('a'), refused_late);
  EXPECT_EQ(acquire('b', {.epoch = 4}), refused_late);
}

TEST_F(RedisCopies, OfAHoldAreRefusedAfterItsRelease) {
  ASSERT_TRUE(acquire('a', {.flags = "f11", .epoch = 2}).starts_with("G"));
  ASSERT_EQ(release("f0", 2), "F");
  EXPECT_EQ(acquire('a'), refused_late);
  // Here it is the release that tells of them.
  ASSERT_TRUE(acquire('b').starts_with("G"));
  ASSERT_EQ(release("f1", 2), "F");
  EXPECT_EQ(acquire('b'), refused_late);
}

// The quick way to take a lock does not look for them: what closes it must not be lost.
// Promise: S5
TEST_F(RedisCopies, AreRefusedAfterAHandOver) {
  const RedisTalk hears = listen("bc");
  refuse_older('z');
  ASSERT_TRUE(acquire('a').starts_with("G"));
  ASSERT_TRUE(acquire('b').starts_with("Q"));
  ASSERT_TRUE(acquire('c').starts_with("Q"));
  ASSERT_EQ(release(), "F");
  ASSERT_TRUE(holds('b'));
  ASSERT_EQ(release(), "F");
  ASSERT_TRUE(holds('c'));
  ASSERT_EQ(release(), "F");
  EXPECT_EQ(acquire('z'), refused_late);
  EXPECT_FALSE(is_held("a"));
}

TEST_F(RedisCopies, OfASuccessorAreRefused) {
  const auto release_to = [&](char successor, const std::string& flags, int epoch) {
    return call(redis::scripts::release,
                {hold(), flags, std::to_string(epoch), attempt(successor), "30000", "label"});
  };
  refuse_older('b', 3);
  ASSERT_TRUE(acquire('a').starts_with("G"));
  EXPECT_EQ(release_to('b', "f010", 2), "F R");
  EXPECT_FALSE(is_held("a"));
  ASSERT_TRUE(acquire('a').starts_with("G"));
  EXPECT_TRUE(release_to('c', "f011", 2).starts_with("F G"));
  ASSERT_EQ(release("f0", 2), "F");
  EXPECT_EQ(acquire('c'), refused_late);
}

TEST_F(RedisCopies, AreForgottenAfterAMinuteAndWithThemTheSlowWay) {
  refuse_older('a');
  const std::string mark = get("x");
  ASSERT_TRUE(acquire('b', {.flags = "u01"}).starts_with("G"));
  ASSERT_EQ(release(), "F");
  EXPECT_EQ(get("x"), mark) << "it is not yet a minute old";
  a_minute_later('a');
  ASSERT_TRUE(acquire('b').starts_with("G"));
  EXPECT_EQ(get("x"), "");
  EXPECT_EQ(get("w"), "");
  EXPECT_THAT(marks(), IsEmpty());
}

TEST_F(RedisCopies, ThatAreAMinuteOldMakeRoomForNewOnes) {
  refuse_older('a');
  a_minute_later('a');
  refuse_older('b');
  EXPECT_EQ(acquire('b'), refused_late);
  EXPECT_TRUE(acquire('a').starts_with("G"));
  EXPECT_THAT(marks(), SizeIs(2));
}

TEST_F(RedisCopies, OfOneRefusedTwiceAreRefusedUntilTheSecondTimeIsOver) {
  refuse_older('a', 2);
  set("!0", attempt('a') + " 1000000");  // a minute after the first time
  refuse_older('a', 3);
  EXPECT_EQ(acquire('a', {.epoch = 2}), refused_late);
}

// A client that connects again and again leaves a tombstone for each of its attempts each time:
// they must not pile up.
TEST_F(RedisCopies, OfOneRefusedAgainAndAgainTakeOnePlace) {
  for (int epoch = 2; epoch < 9; ++epoch) refuse_older('a', epoch);
  EXPECT_THAT(marks(), SizeIs(2));
  set("!0", attempt('a') + " 1000000");  // a minute after the first time
  ASSERT_TRUE(acquire('b').starts_with("G"));
  EXPECT_THAT(marks(), SizeIs(2));
  EXPECT_EQ(acquire('a', {.epoch = 7}), refused_late);
  set("!1", attempt('a') + " 1000000");
  set("!" + attempt('a'), "8 1000000");
  EXPECT_EQ(release("f0", 2), "F");
  ASSERT_TRUE(acquire('b').starts_with("G"));
  EXPECT_THAT(marks(), IsEmpty());
}

TEST_F(RedisCopies, AsAnOlderClientWroteThemAreForgotten) {
  set("x", attempt('a') + " 2 1000000;");
  set("w", "0");
  EXPECT_TRUE(acquire('a').starts_with("G"));
  EXPECT_EQ(get("x"), "");
  ASSERT_EQ(release(), "F");
  refuse_older('b');
  EXPECT_EQ(acquire('b'), refused_late);
}

// After a stall of a thousand clients each of them leaves a tombstone. These must cost nobody else
// anything, or the server falls behind, and more are left.
TEST_F(RedisCopies, OfManyCostNoMoreThanThoseOfOne) {
  const auto instructions = [&](char client) {
    RedisTalk talk = server().talk();
    talk.expect_ok({"CONFIG", "RESETSTAT"});
    EXPECT_TRUE(acquire(client, {.flags = "f11", .epoch = 2}).size() > 1);
    const auto stats = talk.command_stats();
    std::uint64_t calls = 0;
    for (const auto& [name, count] : stats) calls += count;
    return calls;
  };
  ASSERT_TRUE(acquire('h', {.lease = 600'000}).starts_with("G"));
  const std::uint64_t first = instructions('a');
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(call(redis::scripts::cancel, {std::string(16, 'c') + std::to_string(i), "f1", "2"})
                    .starts_with("B"));
  }
  EXPECT_LE(instructions('b'), first + 2);
  // Nor is anything of theirs read or written beside their own marks.
  EXPECT_LT(get("x").size(), 32U);
}

}  // namespace
}  // namespace mortise::fault
