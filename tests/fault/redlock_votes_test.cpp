// SPDX-License-Identifier: MIT
// Goal: one server's part of a quorum: its numbers grow whatever was asked for, settled or taken
// again there, a vote is moved and taken back by its own hold only, and its key outlives it.
// Method: scripts, in orders of requests that a test through the library meets by chance only.
#include "fault/redlock_script.hpp"

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
  EXPECT_EQ(undo('a'), "released");
  EXPECT_EQ(vote('b'), granted(proposal + 1)) << "the same proposal";
  EXPECT_EQ(undo('b'), "released");
  EXPECT_EQ(vote('c', {.number = 9}), granted(proposal + 2)) << "of a clock in 1970";
  EXPECT_EQ(undo('c'), "released");
  EXPECT_EQ(vote('d', {.number = proposal + 100}), granted(proposal + 100));
}

// The settled number is smaller than what this server gave; what it gave still counts.
TEST_F(RedlockVotes, HaveNumbersThatGrowAboveThoseThatWereSettledLower) {
  ASSERT_EQ(vote('a', {.number = proposal + 50}), granted(proposal + 50));
  EXPECT_EQ(settle('a', proposal), "higher");
  EXPECT_EQ(vote('a'), granted(proposal + 50)) << "asked again";
  EXPECT_EQ(settle('a', proposal), "higher");
  EXPECT_EQ(undo('a'), "released");
  EXPECT_EQ(vote('b', {.number = proposal + 20}), granted(proposal + 51));
  EXPECT_EQ(settle('b', proposal + 60), granted(proposal + 60));
  EXPECT_EQ(number(), proposal + 60);
}

TEST_F(RedlockVotes, ThatAreSettledAboveAllNeedNoOtherNumber) {
  ASSERT_EQ(vote('a', {.number = proposal + 50}), granted(proposal + 50));
  EXPECT_EQ(settle('a', proposal), "higher");
  EXPECT_EQ(settle('a', proposal + 60), granted(proposal + 60));
  EXPECT_EQ(number(), proposal + 60);
}

TEST_F(RedlockVotes, AreSettledByTheirOwnerWhileTheyStand) {
  ASSERT_EQ(vote('a'), granted(proposal));
  EXPECT_EQ(settle('b', proposal + 10), "not_held");
  lapse();
  EXPECT_EQ(settle('a', proposal + 10), "not_held") << "a witness that may vote for others";
  EXPECT_EQ(number(), proposal);
}

TEST_F(RedlockVotes, ThatAreTakenAgainKeepWhatTheServerGave) {
  ASSERT_EQ(vote('b', {.number = proposal + 50}), granted(proposal + 50));
  EXPECT_TRUE(is_busy(relock('a', proposal))) << "of a server that has voted";
  EXPECT_TRUE(holds('b'));
  ASSERT_EQ(undo('b'), "released");
  EXPECT_EQ(relock('a', proposal), granted(proposal));
  EXPECT_TRUE(holds('a'));
  EXPECT_EQ(undo('a'), "released");
  EXPECT_EQ(vote('c'), granted(proposal + 51));
}

TEST_F(RedlockVotes, ThatAreTakenAgainAboveAllNeedNoOtherNumber) {
  ASSERT_EQ(vote('b', {.number = proposal + 50}), granted(proposal + 50));
  EXPECT_EQ(settle('b', proposal), "higher");
  EXPECT_EQ(undo('b'), "released");
  EXPECT_EQ(relock('a', proposal + 60), granted(proposal + 60));
  EXPECT_EQ(number(), proposal + 60);
}

TEST_F(RedlockVotes, BeginAnewWhenTheyAreAskedForAgain) {
  ASSERT_EQ(vote('a'), granted(proposal));
  const std::uint64_t before = std::stoull(get("ends"));
  age();
  EXPECT_EQ(vote('a', {.lease = 60'000, .number = proposal + 9}), granted(proposal));
  EXPECT_GE(std::stoull(get("ends")), before + 30'000'000);
  expect_life(60'000, "asked again");
}

// Promise: S3
TEST_F(RedlockVotes, AreTakenBackByTheirOwnHoldOnly) {
  const std::string longer = attempt('a') + "5";  // the same client, fourteen attempts later
  ASSERT_EQ(vote('a'), granted(proposal));
  EXPECT_EQ(release('b', proposal), "not_held");
  EXPECT_EQ(release('a', proposal + 1), "not_held");
  EXPECT_EQ(undo('b'), "not_held");
  EXPECT_EQ(release(longer, ""), "not_held");
  EXPECT_TRUE(holds('a'));
  EXPECT_EQ(release('a', proposal), "released");
  EXPECT_TRUE(is_free());
  EXPECT_EQ(release('a', proposal), "released_before");
  EXPECT_EQ(undo('a'), "released_before");
  ASSERT_EQ(vote('b'), granted(proposal + 1));
  lapse();
  EXPECT_EQ(release('b', proposal + 1), "expired");
}

// A hold may rest on a vote for hours.
// Promise: S5
TEST_F(RedlockVotes, AreLeftAloneByWhatWasAskedInAnEarlierStep) {
  ASSERT_EQ(vote('a', {.step = 1}), granted(proposal));
  ASSERT_EQ(undo('a', false, 2), "released");
  ASSERT_EQ(vote('a', {.step = 3, .number = proposal + 10}), granted(proposal + 10));
  const std::string ends = get("ends");
  EXPECT_EQ(undo('a', false, 2), "not_held") << "a second copy of it";
  EXPECT_EQ(undo('a', true, 2), "not_held");
  EXPECT_EQ(settle('a', proposal + 5, 1), "not_held");
  EXPECT_EQ(vote('a', {.step = 1, .lease = 60'000}), "too_late");
  EXPECT_EQ(get("ends"), ends);
  EXPECT_TRUE(holds('a'));
  EXPECT_EQ(renew('a', proposal + 10), "1");
  ASSERT_EQ(relock('a', proposal + 10, 100), granted(proposal + 10));
  EXPECT_EQ(undo('a', false, 4), "not_held");
  EXPECT_TRUE(holds('a'));
  EXPECT_EQ(undo('a', false, 101), "released");
}

// By this server's clock, whatever the client's clock shows.
// Promise: S5
TEST_F(RedlockVotes, AreNotGivenAfterTheirMoment) {
  const std::uint64_t before = clock();
  EXPECT_EQ(vote('a', {.void_after = before - 1}), "too_late");
  EXPECT_EQ(share('b', {.void_after = before - 1}), "too_late");
  EXPECT_EQ(vote('a', {.manner = "hold", .void_after = before - 1}), "too_late");
  EXPECT_EQ(share('b', {.manner = "hold", .void_after = before - 1}), "too_late");
  EXPECT_FALSE(has("owner"));
  EXPECT_EQ(life(), -2) << "nothing is written";
  EXPECT_EQ(vote('a', {.void_after = clock() + 60'000'000}), granted(proposal));
}

TEST_F(RedlockVotes, AreNotGivenOnceMoreToAHoldThatAnAdministratorEnded) {
  ASSERT_EQ(vote('a'), granted(proposal));
  EXPECT_EQ(release(attempt('a'), "", true, 9, "60000"), "released");
  EXPECT_EQ(relock('a', proposal, 9), "refused");
  EXPECT_EQ(release(attempt('r'), "", true, 9, "1000"), "not_held")
      << "this server had no vote of it";
  EXPECT_EQ(share('r', {.manner = "hold", .step = 9}), "refused");
  EXPECT_EQ(share('r', {.manner = "hold", .step = 10}), granted(proposal)) << "a later hold";
  EXPECT_EQ(undo('r', true, 10), "released");
  EXPECT_GT(life(key("a") + ":forced"), 50'000) << "the longer time counts";
  EXPECT_EQ(relock('b', proposal + 1, 9), granted(proposal + 1));
  EXPECT_EQ(undo('b', true, 9), "released");
  EXPECT_EQ(vote('a', {.step = 3}), granted(proposal + 2)) << "it asks as any other";
}

// An administrator's request is repeated, and its first copy ended the vote of the earlier step.
// Promise: S3
TEST_F(RedlockVotes, OfALaterStepSurviveAForcedRelease) {
  ASSERT_EQ(vote('a', {.step = 1}), granted(proposal));
  EXPECT_THAT(inspect("who"), testing::HasSubstr("<" + attempt('a') + "><" +
                                                 std::to_string(proposal) + "><1><label>"));
  EXPECT_EQ(release(attempt('a'), "", true, 1, "60000"), "released");
  ASSERT_EQ(vote('a', {.step = 2}), granted(proposal + 1));
  EXPECT_EQ(release(attempt('a'), "", true, 1, "60000"), "not_held");
  EXPECT_TRUE(holds('a'));
  EXPECT_EQ(relock('a', proposal + 1, 2), granted(proposal + 1));
  EXPECT_THAT(inspect("who"), testing::HasSubstr("<" + attempt('a') + "><" +
                                                 std::to_string(proposal + 1) + "><2><"));
}

// What is held goes on where nothing new can be taken.
TEST_F(RedlockVotes, AreRenewedSettledAndTakenBackWithoutMemory) {
  ASSERT_EQ(vote('a'), granted(proposal));
  server().talk().expect_ok({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(renew('a', proposal), "1");
  EXPECT_EQ(settle('a', proposal + 5), granted(proposal + 5));
  EXPECT_EQ(undo('a'), "released");
  EXPECT_THROW(vote('b'), test::RedisTalkError);
  EXPECT_EQ(get("owner"), attempt('a'));
}

// Promise: S4
TEST_F(RedlockVotes, AreRenewedByTheirOwnHoldWhileTheyStand) {
  ASSERT_EQ(vote('a'), granted(proposal));
  EXPECT_EQ(renew('b', proposal), "0");
  EXPECT_EQ(renew('a', proposal + 1), "-1") << "its vote, and to be given the number anew";
  EXPECT_EQ(renew('a', proposal), "1");
  lapse();
  EXPECT_EQ(renew('a', proposal), "-1");
  EXPECT_TRUE(is_free());
  EXPECT_EQ(undo('a'), "expired");
  EXPECT_EQ(renew('a', proposal), "-1");
  EXPECT_TRUE(is_free());
}

// One renewal is sent for many locks: what a stranger puts in the place of one is that one's harm.
TEST_F(RedlockVotes, LoseTheirOwnHoldOnlyToAStrangersKey) {
  RedisTalk talk = server().talk();
  const std::string names[] = {key("x"), key("y"), key("z")};
  for (const std::string& name : names) {
    ASSERT_EQ(run(redlock::scripts::acquire,
                  {attempt('a'), "1", std::to_string(any_time), "30000", std::to_string(proposal),
                   "label", "00"},
                  name),
              granted(proposal));
  }
  const auto renew_all = [&] {
    RedisTalk::Command words{
        "EVAL", std::string(redlock::scripts::renew.text), "3", names[0], names[1], names[2]};
    for (int i = 0; i < 3; ++i) {
      words.insert(words.end(), {attempt('a'), std::to_string(proposal), "30000"});
    }
    std::string codes;
    const RedisAnswer answer = talk.expect_ok(words);
    for (std::size_t i = 2; i < answer.items.size(); ++i) {
      codes += std::to_string(answer.items[i].integer);
    }
    return codes;
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
    flush();
    ASSERT_EQ(vote('a', {.lease = lease}), granted(proposal));
    expect_life(lease, "a vote");
    ASSERT_EQ(undo('a'), "released");
    age();
    EXPECT_EQ(vote('b', {.lease = lease, .number = proposal + 1}), granted(proposal + 1));
    expect_life(lease, "the next");
    age();
    EXPECT_EQ(renew('b', proposal + 1, lease), "1");
    expect_life(lease, "renewed");
    age();
    EXPECT_EQ(relock('b', proposal + 1, 1, lease), granted(proposal + 1));
    expect_life(lease, "taken again");
  }
}

}  // namespace
}  // namespace mortise::fault
