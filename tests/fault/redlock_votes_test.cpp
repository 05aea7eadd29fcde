// SPDX-License-Identifier: MIT
// Goal: one server's part of a quorum: its numbers grow whatever was asked for, settled or taken
// again there, a vote is moved and taken back by its own hold only, and its key outlives it.
// Method: scripts, in orders of requests that a test through the library meets by chance only.
#include "fault/redlock_script.hpp"

#include <functional>
#include <string>
#include <vector>

namespace mortise::fault {
namespace {

class RedlockVotes : public RedlockScriptTest {
 protected:
  void expect_life(std::int64_t lease, const std::string& about) {
    EXPECT_GE(life(), lease + hour) << about;
    EXPECT_LE(life(), lease + 3 * hour) << about;
  }
  void flush() { server().talk().expect_ok({"FLUSHALL"}); }
};

// Promise: S2
TEST_F(RedlockVotes, HaveNumbersThatGrowAboveEveryProposal) {
  EXPECT_EQ(vote('a'), granted(proposal));
  EXPECT_EQ(undo('a'), "F");
  EXPECT_EQ(vote('b'), granted(proposal + 1)) << "the same proposal";
  EXPECT_EQ(undo('b'), "F");
  EXPECT_EQ(vote('c', {.number = 9}), granted(proposal + 2)) << "of a clock in 1970";
  EXPECT_EQ(undo('c'), "F");
  EXPECT_EQ(vote('d', {.number = proposal + 100}), granted(proposal + 100));
}

// The settled number is smaller than what this server gave; what it gave still counts.
TEST_F(RedlockVotes, HaveNumbersThatGrowAboveThoseThatWereSettledLower) {
  ASSERT_EQ(vote('a', {.number = proposal + 50}), granted(proposal + 50));
  EXPECT_EQ(settle('a', proposal), "H");
  EXPECT_EQ(vote('a'), granted(proposal + 50)) << "asked again";
  EXPECT_FALSE(has("m"));
  EXPECT_EQ(settle('a', proposal), "H");
  EXPECT_EQ(undo('a'), "F");
  EXPECT_EQ(vote('b', {.number = proposal + 20}), granted(proposal + 51));
  EXPECT_FALSE(has("m")) << "the quick way is closed";
  EXPECT_EQ(settle('b', proposal + 60), granted(proposal + 60));
  EXPECT_EQ(number(), proposal + 60);
}

TEST_F(RedlockVotes, ThatAreSettledAboveAllNeedNoOtherNumber) {
  ASSERT_EQ(vote('a', {.number = proposal + 50}), granted(proposal + 50));
  EXPECT_EQ(settle('a', proposal), "H");
  EXPECT_TRUE(has("m"));
  EXPECT_EQ(settle('a', proposal + 60), granted(proposal + 60));
  EXPECT_FALSE(has("m")) << "the quick way is closed";
}

TEST_F(RedlockVotes, AreSettledByTheirOwnerWhileTheyStand) {
  ASSERT_EQ(vote('a'), granted(proposal));
  EXPECT_EQ(settle('b', proposal + 10), "N");
  lapse();
  EXPECT_EQ(settle('a', proposal + 10), "N") << "a witness that may vote for others";
  EXPECT_EQ(number(), proposal);
}

TEST_F(RedlockVotes, ThatAreTakenAgainKeepWhatTheServerGave) {
  ASSERT_EQ(vote('b', {.number = proposal + 50}), granted(proposal + 50));
  EXPECT_TRUE(relock('a', proposal).starts_with("B")) << "of a server that has voted";
  EXPECT_TRUE(holds('b'));
  ASSERT_EQ(undo('b'), "F");
  EXPECT_EQ(relock('a', proposal), granted(proposal));
  EXPECT_TRUE(holds('a'));
  EXPECT_EQ(undo('a'), "F");
  EXPECT_EQ(vote('c'), granted(proposal + 51));
}

TEST_F(RedlockVotes, ThatAreTakenAgainAboveAllNeedNoOtherNumber) {
  ASSERT_EQ(vote('b', {.number = proposal + 50}), granted(proposal + 50));
  EXPECT_EQ(settle('b', proposal), "H");
  EXPECT_EQ(undo('b'), "F");
  EXPECT_EQ(relock('a', proposal + 60), granted(proposal + 60));
  EXPECT_FALSE(has("m")) << "the quick way is closed";
}

TEST_F(RedlockVotes, BeginAnewWhenTheyAreAskedForAgain) {
  ASSERT_EQ(vote('a'), granted(proposal));
  const std::string before = get("g");
  age();
  EXPECT_EQ(vote('a', {.lease = 60'000, .number = proposal + 9}), granted(proposal));
  EXPECT_NE(get("g"), before);
  EXPECT_TRUE(get("g").ends_with(" 60000"));
  expect_life(60'000, "asked again");
}

// Promise: S3
TEST_F(RedlockVotes, AreTakenBackByTheirOwnHoldOnly) {
  const std::string longer = attempt('a') + "5";  // the same client, fourteen attempts later
  for (const char* const flags : {"q0", "q1"}) {  // the quick way, and the slow one
    flush();
    ASSERT_EQ(vote('a'), granted(proposal));
    EXPECT_EQ(release(hold_of('b', proposal), flags), "N");
    EXPECT_EQ(release(hold_of('a', proposal + 1), flags), "N");
    EXPECT_EQ(undo('b', flags), "N");
    EXPECT_EQ(release(longer + " ", flags), "N");
    EXPECT_TRUE(holds('a')) << flags;
    EXPECT_EQ(release(hold_of('a', proposal), flags), "F");
    EXPECT_TRUE(is_free());
    EXPECT_EQ(release(hold_of('a', proposal), flags), "A");
    EXPECT_EQ(undo('a', flags), "A");
  }
  ASSERT_EQ(vote('b'), granted(proposal + 1));
  lapse();
  EXPECT_EQ(release(hold_of('b', proposal + 1), "q1"), "L");
}

// A tombstone is forgotten after a minute, and a hold may rest on its vote for hours.
TEST_F(RedlockVotes, AreLeftAloneByWhatWasAskedBeforeThemHoweverLateItComes) {
  const auto forget_tombstones = [this] {
    ASSERT_FALSE(has("x"));
    ASSERT_FALSE(has("!" + attempt('a')));
  };
  ASSERT_EQ(vote('a', {.step = 1}), granted(proposal));
  ASSERT_EQ(undo('a', "q00", 2), "F");
  ASSERT_EQ(vote('a', {.step = 3, .number = proposal + 10}), granted(proposal + 10));
  forget_tombstones();
  for (const char* const flags : {"q00", "q10", "q01"}) {
    EXPECT_EQ(undo('a', flags, 2), "N") << "a second copy of it, " << flags;
    server().talk().expect_ok({"HDEL", key("a"), "x", "!0", "!" + attempt('a')});
  }
  EXPECT_EQ(settle('a', proposal + 5, 1), "N");
  EXPECT_EQ(vote('a', {.step = 1, .lease = 60'000}), "R");
  EXPECT_TRUE(holds('a'));
  EXPECT_EQ(renew(hold_of('a', proposal + 10)), "1");
  ASSERT_EQ(relock('a', proposal + 10, "q0", 100), granted(proposal + 10));
  forget_tombstones();
  EXPECT_EQ(undo('a', "q00", 4), "N");
  EXPECT_TRUE(holds('a'));
  EXPECT_EQ(undo('a', "q00", 101), "F");
}

// Its client takes any answer for the word that what it asked before is refused. Where the answer
// was that this came too late for a vote, which is taken back and somebody else's later, what came
// still later took a vote for nobody.
TEST_F(RedlockVotes, AreNotTakenByWhatWasAskedBeforeSomethingThatCameLate) {
  const auto take = [this](char client) { return vote(client, {.flags = "q100", .step = 3}); };
  const auto again = [this](char client) { return relock(client, proposal, "q1", 3); };
  const auto back = [this](char client) { return undo(client, "q10", 3); };
  char client = 'a';
  for (const auto& late : std::vector<std::function<std::string(char)>>{take, again, back}) {
    ASSERT_TRUE(vote(client, {.step = 5}).starts_with("G")) << client;
    EXPECT_THAT(late(client), ::testing::AnyOf("R", "N")) << client;
    EXPECT_TRUE(holds(client)) << client;
    ASSERT_EQ(undo(client, "q01", 5), "F") << client;
    ASSERT_TRUE(vote('f').starts_with("G"));
    ASSERT_EQ(undo('f'), "F");
    EXPECT_EQ(vote(client, {.step = 2}), "R") << client;
    ++client;
  }
  // What is refused once stays so, whatever comes late behind it.
  ASSERT_TRUE(vote('d', {.flags = "q100", .step = 5}).starts_with("G"));
  EXPECT_EQ(vote('d', {.flags = "q100", .step = 3}), "R");
  ASSERT_EQ(undo('d', "q01", 5), "F");
  ASSERT_TRUE(vote('f').starts_with("G"));
  ASSERT_EQ(undo('f'), "F");
  EXPECT_EQ(vote('d', {.step = 4}), "R");
}

// What is held goes on where nothing new can be taken.
TEST_F(RedlockVotes, AreRenewedSettledAndTakenBackWithoutMemory) {
  ASSERT_EQ(vote('a'), granted(proposal));
  server().talk().expect_ok({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(renew(hold_of('a', proposal)), "1");
  EXPECT_EQ(settle('a', proposal + 5), granted(proposal + 5));
  EXPECT_EQ(undo('a'), "F");
  EXPECT_THROW(vote('b'), test::RedisTalkError);
}

// Promise: S4
TEST_F(RedlockVotes, AreRenewedByTheirOwnHoldWhileTheyStand) {
  ASSERT_EQ(vote('a'), granted(proposal));
  EXPECT_EQ(renew(hold_of('b', proposal)), "0");
  EXPECT_EQ(renew(hold_of('a', proposal + 1)), "E") << "its vote, and to be given the number anew";
  EXPECT_EQ(renew(hold_of('a', proposal)), "1");
  lapse();
  EXPECT_EQ(renew(hold_of('a', proposal)), "E");
  EXPECT_TRUE(is_free());
  EXPECT_EQ(undo('a'), "F");
  EXPECT_EQ(renew(hold_of('a', proposal)), "E");
  EXPECT_TRUE(is_free());
}

// One renewal is sent for many locks: what a stranger puts in the place of one is that one's harm.
TEST_F(RedlockVotes, LoseTheirOwnHoldOnlyToAStrangersKey) {
  RedisTalk talk = server().talk();
  const std::string names[] = {key("x"), key("y"), key("z")};
  const auto run = [&](const redis::Script& script, const RedisTalk::Command& rest) {
    RedisTalk::Command command{"EVAL", std::string(script.text)};
    command.insert(command.end(), rest.begin(), rest.end());
    return talk.expect_ok(command).text;
  };
  for (const std::string& name : names) {
    ASSERT_EQ(run(redlock::scripts::acquire, {"1", name, attempt('a'), "q000", "1", "30000",
                                              "label", std::to_string(proposal)}),
              granted(proposal));
  }
  const auto renew_all = [&] {
    RedisTalk::Command words{"3", names[0], names[1], names[2], "", "q"};
    for (int i = 0; i < 3; ++i) {
      words.push_back(hold_of('a', proposal));
      words.emplace_back("30000");
    }
    return run(redlock::scripts::renew, words);
  };
  EXPECT_EQ(renew_all(), "111");
  talk.expect_ok({"SET", names[1], "somebody's"});
  EXPECT_EQ(renew_all(), "101");
  EXPECT_EQ(talk.command({"GET", names[1]}).text, "somebody's");
}

// Promise: S2
TEST_F(RedlockVotes, HaveKeysThatOutliveThem) {
  constexpr std::int64_t lasting = 10 * hour;
  for (const std::int64_t lease : {std::int64_t{30'000}, lasting}) {
    for (const char* const flags : {"q000", "q100"}) {
      flush();
      ASSERT_EQ(vote('a', {.flags = flags, .lease = lease}), granted(proposal));
      expect_life(lease, flags);
      ASSERT_EQ(undo('a'), "F");
      age();
      EXPECT_EQ(vote('b', {.flags = flags, .lease = lease, .number = proposal + 1}),
                granted(proposal + 1));
      expect_life(lease, "the next");
      age();
      EXPECT_EQ(renew(get("o"), lease), "1");
      expect_life(lease, "renewed");
      age();
      EXPECT_EQ(relock('b', proposal + 1, "q0", 1, lease), granted(proposal + 1));
      expect_life(lease, "taken again");
    }
  }
}

}  // namespace
}  // namespace mortise::fault
