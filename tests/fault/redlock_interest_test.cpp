// SPDX-License-Identifier: MIT
// Goal: who wants to hear that a lock may be free is known to each server, in the order of arrival,
// as long as it asks; one of them is told at a release, who can be told, and keeps its place until
// it has a vote; and the polite step back. Also: what arrives late changes nothing there. Method:
// one server's scripts, and inboxes that are open for some clients only.
#include "fault/redlock_script.hpp"

namespace mortise::fault {
namespace {

constexpr const char* late_vote = "R";
constexpr std::chrono::milliseconds soon{100};

class RedlockInterest : public RedlockScriptTest {
 protected:
  /// They ask while somebody has the lock, and want to hear more.
  void interest(std::string_view clients) {
    for (const char client : clients) {
      ASSERT_TRUE(vote(client, {.flags = "q010"}).starts_with("B")) << client;
    }
  }
  /// @return those who are noted, by their letters.
  [[nodiscard]] std::string interested() {
    std::string letters;
    const std::string all = get("i");
    for (std::size_t at = 0; at < all.size(); at = all.find(';', at) + 1) letters += all[at];
    return letters;
  }
  /// Nothing was heard of it for a long time.
  void silence(char client) {
    std::string all = get("i");
    const std::size_t at = all.find(attempt(client)) + attempt(client).size() + 1;
    all.replace(at, all.find(';', at) - at, "1000000");
    set("i", all);
  }
  [[nodiscard]] static bool hears(RedisTalk& inbox, char client) {
    const auto push = inbox.receive(patience);
    return push && push->items.back().text.starts_with("L " + attempt(client) + " ");
  }
};

TEST_F(RedlockInterest, IsToldOnceAndInTheOrderOfArrival) {
  RedisTalk inboxes_of = listen("bcd");
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(interest("bcdb"));
  EXPECT_EQ(interested(), "bcd");
  EXPECT_EQ(undo('a'), "F");
  EXPECT_TRUE(hears(inboxes_of, 'b'));
  EXPECT_FALSE(inboxes_of.receive(soon)) << "one of them";
  EXPECT_EQ(interested(), "bcd");
  EXPECT_EQ(undo('a'), "A");
  EXPECT_TRUE(hears(inboxes_of, 'c')) << "the first may have died since it was told";
  EXPECT_EQ(vote('b', {.flags = "q010", .number = proposal + 1}), granted(proposal + 1));
  EXPECT_EQ(interested(), "cd");
  EXPECT_TRUE(vote('c', {.flags = "q010"}).starts_with("B"));
  EXPECT_EQ(interested(), "dc") << "it came too late";
  EXPECT_EQ(undo('b'), "F");
  EXPECT_TRUE(hears(inboxes_of, 'd'));
}

TEST_F(RedlockInterest, OfTheFutureIsOver) {
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(interest("bc"));
  std::string all = get("i");
  all.replace(all.find(' ') + 1, 16, std::to_string(ahead));
  set("i", all);
  EXPECT_EQ(undo('c'), "N");
  EXPECT_EQ(interested(), "") << "the clock was set back, and nobody knows when it was heard of";
}

TEST_F(RedlockInterest, OfWhoCanNotBeToldOrIsSilentIsPassedOver) {
  RedisTalk inboxes_of = listen("cd");
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(interest("bcd"));
  silence('c');
  EXPECT_EQ(undo('a'), "F");
  EXPECT_TRUE(hears(inboxes_of, 'd'));
  EXPECT_EQ(interested(), "d");
  EXPECT_EQ(vote('d', {.number = proposal + 1}), granted(proposal + 1));
  EXPECT_FALSE(has("i")) << "the quick way is closed";
}

TEST_F(RedlockInterest, IsRefreshedByAsking) {
  RedisTalk inboxes_of = listen("bc");
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(interest("b"));
  const std::string before = get("i");
  ASSERT_NO_FATAL_FAILURE(interest("b"));
  EXPECT_NE(get("i"), before);
  EXPECT_EQ(interested(), "b");
}

TEST_F(RedlockInterest, IsNotedOfWhoWantsItAndBounded) {
  ASSERT_EQ(vote('a'), granted(proposal));
  EXPECT_TRUE(vote('b').starts_with("B"));
  EXPECT_EQ(get("i"), "");
  for (int i = 0; i < 70; ++i) {
    const std::string who = std::string(16, 'c') + std::to_string(i);
    static_cast<void>(
        call(redlock::scripts::acquire, {who, "q010", "1", "30000", "", std::to_string(proposal)}));
  }
  EXPECT_EQ(interested().size(), 64U);
}

TEST_F(RedlockInterest, OfTheDeadMakesRoom) {
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(interest("bc"));
  silence('b');
  silence('c');
  ASSERT_NO_FATAL_FAILURE(interest("d"));
  EXPECT_EQ(interested(), "d");
}

TEST_F(RedlockInterest, EndsWithAVoteAndWithLeaving) {
  RedisTalk inboxes_of = listen("bcd");
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(interest("bcd"));
  EXPECT_EQ(undo('c'), "N") << "it leaves, and has no vote";
  EXPECT_EQ(interested(), "bd");
  EXPECT_FALSE(inboxes_of.receive(soon)) << "it is still held";
  lapse();
  ASSERT_EQ(vote('d'), granted(proposal + 1));
  EXPECT_EQ(interested(), "b");
}

// What it was asked in that round it may not have done: it goes on waiting.
TEST_F(RedlockInterest, StaysWhereARoundIsTakenBack) {
  RedisTalk inboxes_of = listen("bc");
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(interest("bc"));
  EXPECT_EQ(undo('b', "q00"), "N");
  EXPECT_EQ(interested(), "bc");
  EXPECT_EQ(undo('a'), "F");
  EXPECT_TRUE(hears(inboxes_of, 'b'));
  EXPECT_EQ(undo('b', "q00"), "N") << "nothing was freed that another one has to hear of";
  EXPECT_FALSE(inboxes_of.receive(soon));
  EXPECT_EQ(interested(), "bc");
  ASSERT_EQ(vote('b', {.flags = "q010", .number = proposal + 1}), granted(proposal + 1));
  EXPECT_EQ(undo('b', "q00"), "F");
  EXPECT_TRUE(hears(inboxes_of, 'c'));
}

TEST_F(RedlockInterest, OfOthersIsRespectedByThePolite) {
  RedisTalk inboxes_of = listen("bcd");
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(interest("bcd"));
  EXPECT_EQ(undo('a'), "F");
  EXPECT_TRUE(vote('c', {.flags = "q011", .number = proposal + 1}).starts_with("B"));
  EXPECT_EQ(vote('c', {.flags = "q010"}), granted(proposal + 1)) << "whom nothing is asked of";
  lapse();
  silence('d');
  EXPECT_TRUE(vote('e', {.flags = "q011"}).starts_with("B")) << "who was told has its place";
  silence('b');
  EXPECT_EQ(vote('e', {.flags = "q011"}), granted(proposal + 2)) << "only the dead are before it";
}

class RedlockCopies : public RedlockScriptTest {
 protected:
  void refuse_older(char client, int step = 2) { ASSERT_EQ(undo(client, "q11", step), "N"); }
  /// What tells of late copies of the first that was refused has had its time.
  void a_minute_later(char client) {
    set("!0", attempt(client) + " 1000000");
    set("!" + attempt(client), "2 1000000");
  }
};

// Promise: S5
TEST_F(RedlockCopies, AreRefusedInEachScript) {
  refuse_older('a', 3);
  refuse_older('b', 5);
  EXPECT_EQ(vote('a', {.step = 2}), late_vote);
  EXPECT_EQ(vote('b', {.step = 4}), late_vote);
  EXPECT_EQ(relock('a', proposal, "q0", 2), late_vote);
  EXPECT_EQ(vote('a', {.step = 3}), granted(proposal));
  EXPECT_EQ(undo('a', "q01", 2), "N");
  EXPECT_TRUE(holds('a')) << "an undo of an earlier round freed a vote";
  EXPECT_EQ(undo('a', "q01", 3), "F");
  EXPECT_EQ(vote('c', {.step = 1}), granted(proposal + 1)) << "another client counts by itself";
}

TEST_F(RedlockCopies, AreKnownByWhatWasSentLast) {
  ASSERT_EQ(vote('a', {.flags = "q100", .step = 2}), granted(proposal));
  EXPECT_EQ(undo('a', "q01", 2), "F");
  EXPECT_EQ(vote('a'), late_vote);
  server().talk().expect_ok({"FLUSHALL"});
  ASSERT_EQ(vote('b'), granted(proposal));
  EXPECT_EQ(undo('b', "q11", 2), "F");
  EXPECT_EQ(vote('b'), late_vote);
  ASSERT_EQ(relock('c', proposal + 2, "q1", 2), granted(proposal + 2));
  EXPECT_EQ(undo('c', "q01", 2), "F");
  EXPECT_EQ(relock('c', proposal + 2), late_vote);
}

// The vote of a later round would have the number of an earlier one, and be taken for none.
TEST_F(RedlockCopies, DoNotSettleALaterRound) {
  refuse_older('a', 4);
  ASSERT_EQ(vote('a', {.step = 5, .number = proposal + 10}), granted(proposal + 10));
  EXPECT_EQ(settle('a', proposal, 3), "N");
  EXPECT_EQ(renew(hold_of('a', proposal + 10)), "1");
  EXPECT_EQ(settle('a', proposal + 20, 5), granted(proposal + 20));
}

TEST_F(RedlockCopies, AreForgottenAfterAMinute) {
  refuse_older('a');
  EXPECT_GT(life(), 60'000);
  const std::string mark = get("x");
  EXPECT_EQ(vote('b'), granted(proposal));
  EXPECT_EQ(get("x"), mark) << "it is not yet a minute old";
  EXPECT_EQ(undo('b'), "F");
  a_minute_later('a');
  EXPECT_EQ(vote('b'), granted(proposal + 1));
  EXPECT_FALSE(has("x")) << "the quick way is closed";
  EXPECT_FALSE(has("!0"));
  EXPECT_FALSE(has("!" + attempt('a')));
}

TEST_F(RedlockCopies, ThatAreAMinuteOldMakeRoomForNewOnes) {
  refuse_older('a');
  refuse_older('z');
  a_minute_later('a');
  ASSERT_EQ(vote('b', {.flags = "q100", .step = 2}), granted(proposal));
  EXPECT_FALSE(has("!" + attempt('a')));
  EXPECT_TRUE(has("!" + attempt('z')));
  EXPECT_TRUE(has("!" + attempt('b')));
  EXPECT_EQ(vote('z'), late_vote);
}

}  // namespace
}  // namespace mortise::fault
