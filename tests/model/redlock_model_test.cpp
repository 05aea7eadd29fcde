// SPDX-License-Identifier: MIT
// Goal: the protocol of the quorum is right before any server is asked: tokens of any sequence of
// majorities differ and grow while the nodes' numbers survive, and whoever believes that it holds
// is the one who was granted last. Method: every state of two small models, and variants with one
// rule taken away, in which the same search must find the fault, or it would be blind.
#include "model/redlock_leases.hpp"
#include "model/redlock_tokens.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>

namespace mortise::model {
namespace {

using ::testing::HasSubstr;
using Tokens = RedlockTokens::Rules;
using Leases = RedlockLeases::Rules;

Verdict numbers_of(const Tokens& rules) { return search(RedlockTokens(rules)); }
Verdict holders_of(const Leases& rules) { return search(RedlockLeases(rules)); }

void expect_right(const Verdict& verdict) {
  std::cout << verdict.states << " states\n";
  EXPECT_TRUE(verdict.whole);
  EXPECT_FALSE(verdict.fault) << verdict.text();
  EXPECT_GT(verdict.states, 1000U) << "it looked at nothing";
}

void expect_fault(const Verdict& verdict, const std::string& words) {
  std::cout << verdict.text() << '\n';
  ASSERT_TRUE(verdict.fault) << "the search is blind";
  EXPECT_THAT(*verdict.fault, HasSubstr(words));
  EXPECT_FALSE(verdict.way.empty());
}

TEST(RedlockTokens, GrowOverAnySequenceOfMajorities) {
  expect_right(numbers_of({.nodes = 3, .attempts = 3, .quorum = 2, .proposals = 1}));
  expect_right(numbers_of({.nodes = 3, .attempts = 2, .quorum = 2, .earlier = 2}));
  expect_right(numbers_of({.nodes = 4, .attempts = 2, .quorum = 3, .earlier = 1}));
  expect_right(numbers_of({.nodes = 5, .attempts = 2, .quorum = 3, .earlier = 1, .proposals = 1}));
}

TEST(LongRedlockTokens, GrowOverAnySequenceOfMajorities) {
  expect_right(numbers_of({.nodes = 3, .attempts = 3, .quorum = 2}));
  expect_right(numbers_of({.nodes = 3, .attempts = 2, .quorum = 2, .earlier = 1, .tries = 2}));
  expect_right(numbers_of({.nodes = 4, .attempts = 2, .quorum = 3, .earlier = 2}));
  expect_right(numbers_of({.nodes = 5, .attempts = 2, .quorum = 3, .earlier = 1}));
}

TEST(RedlockTokens, FallWhereTheGreatestNumberIsNotWrittenBack) {
  const Tokens rules{.nodes = 3, .attempts = 2, .quorum = 2, .earlier = 1, .writes_back = false};
  expect_fault(numbers_of(rules), "token");
  Tokens five = rules;
  five.nodes = 5;
  five.quorum = 3;
  expect_fault(numbers_of(five), "token");
}

TEST(RedlockTokens, FallWhereItIsWrittenBackToAMinority) {
  expect_fault(numbers_of({.nodes = 5, .attempts = 2, .quorum = 3, .earlier = 1, .writes_to = 2}),
               "token");
}

TEST(RedlockTokens, ComeTwiceWhereItIsWrittenToNodesThatSomebodyElseOwns) {
  expect_fault(
      numbers_of(
          {.nodes = 3, .attempts = 2, .quorum = 2, .earlier = 2, .writes_only_to_its_own = false}),
      "token");
}

TEST(RedlockTokens, ComeTwiceWithAQuorumThatIsNoMajority) {
  expect_fault(numbers_of({.nodes = 5, .attempts = 2, .quorum = 2}), "twice");
  expect_fault(numbers_of({.nodes = 4, .attempts = 2, .quorum = 2}), "twice");
}

// A request that came after the decision has brought that node a greater number.
TEST(RedlockTokens, ComeTwiceWhereANodeThatGaveMoreIsCounted) {
  expect_fault(numbers_of({.nodes = 3,
                           .attempts = 2,
                           .quorum = 2,
                           .earlier = 1,
                           .counts_only_what_it_raised = false}),
               "twice");
}

// What the promise rests on: a node that loses its number is made up for by the clients' clocks.
TEST(RedlockTokens, FallWhereANumberIsForgottenAndTheClocksDoNotHelp) {
  expect_fault(
      numbers_of(
          {.nodes = 3, .attempts = 2, .quorum = 2, .earlier = 1, .forgets = 1, .only_order = true}),
      "did not grow");
}

TEST(RedlockTokens, GrowOverForgottenNumbersWhereClocksAgree) {
  Tokens rules{.nodes = 3, .attempts = 2, .quorum = 2, .proposals = 1, .forgets = 2};
  rules.clock = true;
  rules.only_order = true;
  expect_right(numbers_of(rules));
  rules.nodes = 5;
  rules.quorum = 3;
  rules.forgets = 1;
  expect_right(numbers_of(rules));
}

TEST(RedlockHolders, AreAloneWhateverComesLate) {
  expect_right(holders_of({.nodes = 3, .attempts = 2, .quorum = 2}));
  expect_right(holders_of({.nodes = 3, .attempts = 2, .quorum = 2, .lease = 3}));
  expect_right(holders_of({.nodes = 3, .attempts = 2, .quorum = 2, .rounds = 2}));
  expect_right(holders_of({.nodes = 4, .attempts = 2, .quorum = 3}));
}

TEST(LongRedlockHolders, AreAloneWhateverComesLate) {
  expect_right(holders_of({.nodes = 3, .attempts = 3, .quorum = 2}));
  expect_right(holders_of({.nodes = 5, .attempts = 2, .quorum = 3}));
}

TEST(RedlockHolders, AreTwoWithAQuorumThatIsNoMajority) {
  expect_fault(holders_of({.nodes = 5, .attempts = 2, .quorum = 2}), "granted after it");
  expect_fault(holders_of({.nodes = 4, .attempts = 2, .quorum = 2}), "granted after it");
}

TEST(RedlockHolders, AreTwoWhereTheLeaseIsCountedFromTheAnswer) {
  expect_fault(holders_of({.nodes = 3, .quorum = 2, .counts_from_first_request = false}),
               "granted after it");
  expect_fault(holders_of({.nodes = 3, .quorum = 2, .counts_from_renewals_request = false}),
               "granted after it");
}

TEST(RedlockHolders, AreTwoWhereARoundBuildsOnTheOneBefore) {
  Leases rules{.nodes = 3, .quorum = 2, .rounds = 2, .counts_votes_of_round = false};
  expect_fault(holders_of(rules), "granted after it");
  rules.counts_votes_of_round = true;
  rules.begins_lease_in_round = false;
  expect_fault(holders_of(rules), "granted after it");
  rules.begins_lease_in_round = true;
  rules.undoes_only_its_round = false;
  expect_fault(holders_of(rules), "granted after it");
}

TEST(RedlockHolders, AreTwoWhereANodeIsRestartedEmptyAtOnce) {
  expect_fault(holders_of({.nodes = 3, .quorum = 2, .deaths = 1, .delayed_restart = false}),
               "granted after it");
  expect_fault(holders_of({.nodes = 5, .quorum = 3, .deaths = 1, .delayed_restart = false}),
               "granted after it");
}

TEST(RedlockHolders, AreAloneWhereNodesAreRestartedALeaseLater) {
  expect_right(holders_of({.nodes = 3, .attempts = 2, .quorum = 2, .deaths = 2}));
}

TEST(LongRedlockHolders, AreAloneWhereNodesAreRestartedALeaseLater) {
  expect_right(holders_of({.nodes = 3, .attempts = 2, .quorum = 2, .lease = 3, .deaths = 1}));
  expect_right(holders_of({.nodes = 4, .attempts = 2, .quorum = 3, .deaths = 1}));
}

TEST(RedlockHolders, ComeBackFromTheDeadWhereRenewalsTakeWhatHasLapsed) {
  expect_fault(holders_of({.nodes = 3, .quorum = 2, .renews_only_in_time = false}),
               "granted after it");
}

}  // namespace
}  // namespace mortise::model
