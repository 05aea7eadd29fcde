// SPDX-License-Identifier: MIT
// Goal: a round is won with a majority that remembers one number, and never otherwise; it is lost
// as soon as no majority can come of it. Method: known answers, and every way in which 3, 4 and 5
// servers can answer.
#include "redlock/ballot.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace mortise::redlock {
namespace {

using namespace std::chrono_literals;
using Outcome = Ballot::Outcome;

constexpr Instant began{100s};

Ballot asked(std::size_t nodes) {
  Ballot ballot(Quorum{.nodes = nodes});
  ballot.begin();
  for (std::size_t i = 0; i < nodes; ++i) ballot.asked(i);
  return ballot;
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
}

TEST(RedlockBallotTest, AMajorityOfEqualNumbersWins) {
  Ballot ballot = asked(5);
  ballot.granted(4, 7, began);
  ballot.granted(0, 7, began);
  EXPECT_EQ(ballot.outcome(), Outcome::open) << "two of five";
  ballot.granted(2, 7, began);
  EXPECT_EQ(ballot.outcome(), Outcome::won);
  EXPECT_EQ(ballot.number(), 7U);
  EXPECT_EQ(ballot.open(), only(1) | only(3));
}

TEST(RedlockBallotTest, TheLeaseCountsFromTheEarliestQuestion) {
  Ballot ballot = asked(3);
  ballot.granted(0, 7, began + 20ms);
  ballot.granted(2, 7, began);
  EXPECT_EQ(ballot.counted_from(), began);
}

TEST(RedlockBallotTest, HalfOfAnEvenNumberIsNoMajority) {
  Ballot ballot = asked(4);
  ballot.granted(0, 7, began);
  ballot.granted(1, 7, began);
  EXPECT_EQ(ballot.outcome(), Outcome::open);
  ballot.refused(2, 8, 1ms);
  ballot.refused(3, 8, 1ms);
  EXPECT_EQ(ballot.outcome(), Outcome::lost);
  EXPECT_FALSE(ballot.held_elsewhere()) << "a tie is nobody's";
}

TEST(RedlockBallotTest, IsLostAsSoonAsAMajorityMakesItImpossible) {
  Ballot ballot = asked(5);
  ballot.refused(0, 9, 1s);
  ballot.silent(1);
  EXPECT_EQ(ballot.outcome(), Outcome::open);
  ballot.refused(3, 9, 1s);
  EXPECT_EQ(ballot.outcome(), Outcome::open) << "two servers do not tell who has it";
  ballot.granted(2, 7, began);
  EXPECT_EQ(ballot.outcome(), Outcome::lost) << "the fifth can not help any more";
  EXPECT_TRUE(ballot.held_elsewhere()) << "whoever refused twice may have the third vote";
}

TEST(RedlockBallotTest, NumbersThatDisagreeAreSettledOnTheLargest) {
  Ballot ballot = asked(5);
  ballot.granted(0, 7, began);
  ballot.granted(1, 9, began);
  ballot.granted(2, 7, began);
  ASSERT_EQ(ballot.outcome(), Outcome::settle);
  EXPECT_EQ(ballot.settle(), only(0) | only(2));
  EXPECT_EQ(ballot.outcome(), Outcome::open) << "one server only remembers it";
  ballot.settled(2, 9);
  EXPECT_EQ(ballot.outcome(), Outcome::open);
  ballot.settled(0, 9);
  EXPECT_EQ(ballot.outcome(), Outcome::won);
  EXPECT_EQ(ballot.number(), 9U);
}

TEST(RedlockBallotTest, AVoteThatComesWhileOthersSettleCountsIfItRemembersTheNumber) {
  Ballot ballot = asked(5);
  ballot.granted(0, 7, began);
  ballot.granted(1, 9, began);
  ballot.granted(2, 7, began);
  static_cast<void>(ballot.settle());
  ballot.granted(3, 12, began);
  EXPECT_EQ(ballot.number(), 9U) << "decided once, and told to servers already";
  EXPECT_EQ(ballot.outcome(), Outcome::open);
  ballot.granted(4, 9, began);
  ballot.settled(0, 9);
  EXPECT_EQ(ballot.outcome(), Outcome::won);
}

TEST(RedlockBallotTest, AServerThatGaveMoreIsNoWitness) {
  Ballot ballot = asked(3);
  ballot.granted(0, 1, began);
  ballot.granted(1, 2, began);
  ASSERT_EQ(ballot.outcome(), Outcome::settle);
  EXPECT_EQ(ballot.settle(), only(0));
  ballot.granted(2, 3, began);
  EXPECT_EQ(ballot.outcome(), Outcome::open) << "2 may have been somebody else's in between";
  ballot.silent(2);  // what it says to being settled
  EXPECT_EQ(ballot.outcome(), Outcome::open);
  ballot.silent(0);
  EXPECT_EQ(ballot.outcome(), Outcome::lost);
}

TEST(RedlockBallotTest, WhoDoesNotSettleTakesHisVoteAlong) {
  Ballot ballot = asked(3);
  ballot.granted(0, 7, began);
  ballot.granted(1, 9, began);
  ballot.silent(2);
  ASSERT_EQ(ballot.outcome(), Outcome::settle);
  static_cast<void>(ballot.settle());
  ballot.silent(1);
  EXPECT_EQ(ballot.outcome(), Outcome::open) << "this one has the number";
  ballot.silent(0);
  EXPECT_EQ(ballot.outcome(), Outcome::lost);
}

TEST(RedlockBallotTest, KnowsWhenEnoughLeasesEnd) {
  Ballot ballot = asked(5);
  ballot.granted(0, 7, began);
  ballot.refused(1, 8, 300ms);
  ballot.refused(2, 8, 100ms);
  ballot.refused(3, 8, 200ms);
  EXPECT_EQ(ballot.free_in(), 200ms) << "with ours, two more make a majority";
  Ballot silent = asked(5);
  silent.refused(1, 8, 300ms);
  EXPECT_FALSE(silent.free_in().has_value());
}

TEST(RedlockBallotTest, ANewRoundForgetsTheOldVotes) {
  Ballot ballot = asked(3);
  ballot.granted(0, 7, began);
  ballot.refused(1, 8, 1ms);
  ballot.begin();
  EXPECT_EQ(ballot.votes() | ballot.against() | ballot.open(), 0U);
  EXPECT_EQ(ballot.outcome(), Outcome::lost);
}

// What each server says: for us with the number 5, 6 or 7, against us, nothing, or nothing yet.
constexpr int ways = 6;

void say(Ballot& ballot, std::size_t node, int way) {
  if (way < 3) ballot.granted(node, 5 + static_cast<std::uint64_t>(way), began);
  if (way == 3) ballot.refused(node, 8, 1ms);
  if (way == 4) ballot.silent(node);
}

TEST(RedlockBallotTest, EveryWayToAnswerHasTheOutcomeOfItsCounts) {
  for (const std::size_t nodes : {3U, 4U, 5U}) {
    const std::size_t majority = nodes / 2 + 1;
    std::size_t total = 1;
    for (std::size_t i = 0; i < nodes; ++i) total *= ways;
    for (std::size_t code = 0; code < total; ++code) {
      Ballot ballot = asked(nodes);
      std::vector<std::size_t> counts(ways, 0);
      std::size_t rest = code;
      for (std::size_t i = 0; i < nodes; ++i, rest /= ways) {
        const int way = static_cast<int>(rest % ways);
        say(ballot, i, way);
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
      ASSERT_EQ(ballot.outcome(), expected) << nodes << " servers, answers " << code;
      if (expected == Outcome::won) {
        ASSERT_EQ(ballot.number(), 5 + largest);
      }
    }
  }
}

}  // namespace
}  // namespace mortise::redlock
