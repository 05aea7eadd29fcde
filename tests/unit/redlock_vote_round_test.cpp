// SPDX-License-Identifier: MIT
// Goal: a round is won with a majority that remembers one number, and never otherwise; it is lost
// as soon as no majority can come of it. Method: known answers, and every way in which 3, 4 and 5
// servers can answer.
#include "redlock/vote_round.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace mortise::redlock {
namespace {

using namespace std::chrono_literals;
using Outcome = VoteRound::Outcome;

constexpr Instant began{100s};

VoteRound asked(std::size_t nodes) {
  VoteRound round(Quorum{.nodes = nodes});
  round.begin();
  for (std::size_t i = 0; i < nodes; ++i) round.asked(i);
  return round;
}

TEST(RedlockQuorumTest, AnyTwoMajoritiesShareAServer) {
  for (std::size_t nodes = 3; nodes <= 8; ++nodes) {
    const Quorum quorum{.nodes = nodes};
    EXPECT_GT(2 * quorum.majority(), nodes);
    EXPECT_LE(2 * (quorum.majority() - 1), nodes);
    EXPECT_EQ(quorum.blocking() + quorum.majority(), nodes + 1);
    EXPECT_EQ(count(quorum.all()), nodes);
  }
}

TEST(RedlockQuorumTest, ATallyIsDecidedByAMajorityOrByThoseWhoBlockIt) {
  const Quorum five{.nodes = 5};
  EXPECT_EQ((Tally{.yes = 0b00011, .no = 0b01100}).verdict(five), Tally::Verdict::open);
  EXPECT_EQ((Tally{.yes = 0b10011, .no = 0b01100}).verdict(five), Tally::Verdict::yes);
  EXPECT_EQ((Tally{.yes = 0b00011, .no = 0b11100}).verdict(five), Tally::Verdict::no);
  const Quorum four{.nodes = 4};
  EXPECT_EQ((Tally{.yes = 0b0011, .no = 0b1100}).verdict(four), Tally::Verdict::no);
  // By force the answers of a majority are enough.
  EXPECT_EQ((Tally{.yes = 0b00001, .no = 0b00110}).verdict_by_force(five), Tally::Verdict::yes);
  EXPECT_EQ((Tally{.yes = 0b00000, .no = 0b00111}).verdict_by_force(five), Tally::Verdict::no);
  EXPECT_EQ((Tally{.yes = 0b00001, .no = 0b00100}).verdict_by_force(five), Tally::Verdict::open);
  // Replies were lost: it is over at these servers, but this release may not have ended it.
  EXPECT_EQ((Tally{.yes = 0b00001, .unsure = 0b00110}).verdict_by_force(five), Tally::Verdict::yes);
  EXPECT_EQ((Tally{.no = 0b00001, .unsure = 0b11110}).verdict_by_force(five), Tally::Verdict::open);
  EXPECT_EQ((Tally{.no = 0b00111, .unsure = 0b11000}).verdict_by_force(five), Tally::Verdict::no);
  EXPECT_EQ((Tally{.yes = 0b00001, .unsure = 0b11110}).verdict(five), Tally::Verdict::open);
}

TEST(RedlockVoteRoundTest, AMajorityOfEqualNumbersWins) {
  VoteRound round = asked(5);
  round.granted(4, 7, began);
  round.granted(0, 7, began);
  EXPECT_EQ(round.outcome(), Outcome::open) << "two of five";
  round.granted(2, 7, began);
  EXPECT_EQ(round.outcome(), Outcome::won);
  EXPECT_EQ(round.number(), 7U);
  EXPECT_EQ(round.open(), only(1) | only(3));
}

TEST(RedlockVoteRoundTest, TheLeaseCountsFromTheEarliestRequest) {
  VoteRound round = asked(3);
  round.granted(0, 7, began + 20ms);
  round.granted(2, 7, began);
  EXPECT_EQ(round.counted_from(), began);
}

TEST(RedlockVoteRoundTest, HalfOfAnEvenNumberIsNoMajority) {
  VoteRound round = asked(4);
  round.granted(0, 7, began);
  round.granted(1, 7, began);
  EXPECT_EQ(round.outcome(), Outcome::open);
  round.refused(2, 8, 1ms);
  round.refused(3, 8, 1ms);
  EXPECT_EQ(round.outcome(), Outcome::lost);
  EXPECT_FALSE(round.held_elsewhere()) << "a tie is nobody's";
}

TEST(RedlockVoteRoundTest, IsLostAsSoonAsAMajorityMakesItImpossible) {
  VoteRound round = asked(5);
  round.refused(0, 9, 1s);
  round.silent(1);
  EXPECT_EQ(round.outcome(), Outcome::open);
  round.refused(3, 9, 1s);
  EXPECT_EQ(round.outcome(), Outcome::open) << "two servers do not tell who has it";
  round.granted(2, 7, began);
  EXPECT_EQ(round.outcome(), Outcome::lost) << "the fifth cannot help any more";
  EXPECT_TRUE(round.held_elsewhere()) << "whoever refused twice may have the third vote";
}

TEST(RedlockVoteRoundTest, NumbersThatDisagreeAreSettledOnTheLargest) {
  VoteRound round = asked(5);
  round.granted(0, 7, began);
  round.granted(1, 9, began);
  round.granted(2, 7, began);
  ASSERT_EQ(round.outcome(), Outcome::settle);
  EXPECT_EQ(round.settle(), only(0) | only(2));
  EXPECT_EQ(round.outcome(), Outcome::open) << "one server only remembers it";
  round.settled(2, 9);
  EXPECT_EQ(round.outcome(), Outcome::open);
  round.settled(0, 9);
  EXPECT_EQ(round.outcome(), Outcome::won);
  EXPECT_EQ(round.number(), 9U);
}

TEST(RedlockVoteRoundTest, AVoteThatComesWhileOthersSettleCountsIfItRemembersTheNumber) {
  VoteRound round = asked(5);
  round.granted(0, 7, began);
  round.granted(1, 9, began);
  round.granted(2, 7, began);
  static_cast<void>(round.settle());
  round.granted(3, 12, began);
  EXPECT_EQ(round.number(), 9U) << "decided once, and told to servers already";
  EXPECT_EQ(round.outcome(), Outcome::open);
  round.granted(4, 9, began);
  round.settled(0, 9);
  EXPECT_EQ(round.outcome(), Outcome::won);
}

TEST(RedlockVoteRoundTest, AServerThatGaveMoreIsNoWitness) {
  VoteRound round = asked(3);
  round.granted(0, 1, began);
  round.granted(1, 2, began);
  ASSERT_EQ(round.outcome(), Outcome::settle);
  EXPECT_EQ(round.settle(), only(0));
  round.granted(2, 3, began);
  EXPECT_EQ(round.outcome(), Outcome::open) << "2 may have been somebody else's in between";
  round.silent(2);  // what it says to being settled
  EXPECT_EQ(round.outcome(), Outcome::open);
  round.silent(0);
  EXPECT_EQ(round.outcome(), Outcome::lost);
}

TEST(RedlockVoteRoundTest, AServerThatDoesNotSettleTakesItsVoteAlong) {
  VoteRound round = asked(3);
  round.granted(0, 7, began);
  round.granted(1, 9, began);
  round.silent(2);
  ASSERT_EQ(round.outcome(), Outcome::settle);
  static_cast<void>(round.settle());
  round.silent(1);
  EXPECT_EQ(round.outcome(), Outcome::open) << "this one has the number";
  round.silent(0);
  EXPECT_EQ(round.outcome(), Outcome::lost);
}

TEST(RedlockVoteRoundTest, KnowsWhenEnoughLeasesEnd) {
  VoteRound round = asked(5);
  round.granted(0, 7, began);
  round.refused(1, 8, 300ms);
  round.refused(2, 8, 100ms);
  round.refused(3, 8, 200ms);
  EXPECT_EQ(round.free_in(), 200ms) << "with ours, two more make a majority";
  VoteRound silent = asked(5);
  silent.refused(1, 8, 300ms);
  EXPECT_FALSE(silent.free_in().has_value());
}

TEST(RedlockVoteRoundTest, HearsThoseWhoNameTheHolderOfAMajority) {
  VoteRound round = asked(5);
  round.refused(0, 8, 1ms);
  round.refused(1, 8, 1ms);
  round.granted(2, 7, began);
  round.refused(3, 9, 1ms);
  EXPECT_EQ(round.worth_hearing(), Quorum{.nodes = 5}.all()) << "nobody has it, perhaps";
  round.refused(4, 8, 1ms);
  EXPECT_EQ(round.worth_hearing(), only(0) | only(1) | only(4));
}

// Of three who wait each may have had the answers of two other servers first, and each be told by
// the third one alone.
// Promise: L2
TEST(RedlockVoteRoundTest, HearsThoseWhoHaveNotSaidWhoHasIt) {
  VoteRound round = asked(3);
  round.refused(0, 8, 1ms);
  round.refused(1, 8, 1ms);
  EXPECT_EQ(round.outcome(), Outcome::lost);
  EXPECT_EQ(round.worth_hearing(), Quorum{.nodes = 3}.all());
  round.granted(2, 7, began);  // late
  EXPECT_EQ(round.worth_hearing(), only(0) | only(1));
}

TEST(RedlockVoteRoundTest, ANewRoundForgetsTheOldVotes) {
  VoteRound round = asked(3);
  round.granted(0, 7, began);
  round.refused(1, 8, 1ms);
  round.begin();
  EXPECT_EQ(round.votes() | round.against() | round.open(), 0U);
  EXPECT_EQ(round.outcome(), Outcome::lost);
}

// What each server says: for us with the number 5, 6 or 7, against us, nothing, or nothing yet.
constexpr int ways = 6;

void say(VoteRound& round, std::size_t node, int way) {
  if (way < 3) round.granted(node, 5 + static_cast<std::uint64_t>(way), began);
  if (way == 3) round.refused(node, 8, 1ms);
  if (way == 4) round.silent(node);
}

TEST(RedlockVoteRoundTest, EveryWayToAnswerHasTheOutcomeOfItsCounts) {
  for (const std::size_t nodes : {3U, 4U, 5U}) {
    const std::size_t majority = nodes / 2 + 1;
    std::size_t total = 1;
    for (std::size_t i = 0; i < nodes; ++i) total *= ways;
    for (std::size_t code = 0; code < total; ++code) {
      VoteRound round = asked(nodes);
      std::vector<std::size_t> counts(ways, 0);
      std::size_t rest = code;
      for (std::size_t i = 0; i < nodes; ++i, rest /= ways) {
        const int way = static_cast<int>(rest % ways);
        say(round, i, way);
        ++counts[static_cast<std::size_t>(way)];
      }
      const std::size_t votes = counts[0] + counts[1] + counts[2];
      const std::size_t largest = counts[2] != 0 ? 2 : (counts[1] != 0 ? 1 : 0);
      Outcome expected = Outcome::open;
      if (votes + counts[5] < majority) {
        const bool told = counts[5] == 0 || votes + counts[3] >= majority;
        expected = told ? Outcome::lost : Outcome::open;
      } else if (votes >= majority) {
        expected = counts[largest] >= majority ? Outcome::won : Outcome::settle;
      }
      ASSERT_EQ(round.outcome(), expected) << nodes << " servers, answers " << code;
      if (expected == Outcome::won) {
        ASSERT_EQ(round.number(), 5 + largest);
      }
    }
  }
}

TEST(RedlockVoteRoundTest, ReadersHaveTheNameWhereOneOfThemHasAMajority) {
  VoteRound round = asked(3);
  round.refused(0, 4, 1s, {4, 6});
  round.refused(1, 5, 1s, {5});
  EXPECT_EQ(count(round.holders_nodes()), 1U) << "nobody is named twice";
  EXPECT_FALSE(round.held_elsewhere() && count(round.holders_nodes()) >= 2);
  round.refused(2, 6, 2s, {6, 7});
  EXPECT_EQ(round.holders_nodes(), only(0) | only(2))
      << "one that no server names first everywhere";
  EXPECT_TRUE(round.held_elsewhere());
  EXPECT_EQ(round.free_in(), std::chrono::microseconds(1s));
}

TEST(RedlockVoteRoundTest, ReadersThatHaveNoMajorityKeepNobodyWaiting) {
  VoteRound round = asked(3);
  round.refused(0, 4, 1s, {4});
  round.refused(1, 5, 1s, {5});
  round.granted(2, 9, began);
  EXPECT_EQ(round.outcome(), Outcome::lost);
  EXPECT_FALSE(round.held_elsewhere());
  round.begin();
  round.asked(0);
  round.refused(0, 0, 0s);
  EXPECT_EQ(round.holders_nodes(), 0U) << "what was told in an earlier round";
}

}  // namespace
}  // namespace mortise::redlock
