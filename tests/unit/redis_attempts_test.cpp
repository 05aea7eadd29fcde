// SPDX-License-Identifier: MIT
// Goal: a push means what it should in every order of replies and pushes, no late copy or release
// in doubt is forgotten too early, and a server's time becomes a moment of ours that is not too
// late. Method: the table alone, event by event, with the clock handed in.
#include "model/seed.hpp"
#include "redis/attempts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

namespace mortise::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using enum Attempts::Verdict::Kind;

const Instant start{1h};
const Reading reading{start, 1'700'000'000s};

AttemptId id_of(std::uint64_t sequence) { return {1, 2, sequence}; }

std::shared_ptr<Acquisition> operation_of(std::uint64_t sequence) {
  return std::make_shared<Acquisition>(
      Acquisition::Request{.attempt = id_of(sequence), .name = "a", .lease = 30s, .wait = true});
}

Push grant_of(std::uint64_t sequence) {
  return {.kind = Push::Kind::granted, .attempt = id_of(sequence), .number = 77, .key = "m:{a}"};
}

class RedisAttemptsTest : public ::testing::Test {
 protected:
  Attempts attempts_;
  const std::shared_ptr<Acquisition> one_ = operation_of(1);
  const std::shared_ptr<Acquisition> two_ = operation_of(2);
  const std::shared_ptr<Acquisition> three_ = operation_of(3);
};

// Two clocks whose rates differ by 0.1 % at most; the reply took any time to reach us.
TEST(RedisReadingTest, IsNotLaterThanTheServersMoment) {
  const Reading at{start, 1'000s};
  EXPECT_EQ(at.not_later_than(1'000s), start);
  EXPECT_EQ(at.not_later_than(1'010s), start + 10s - 10ms);
  EXPECT_EQ(at.not_later_than(990s), start - 10s - 10ms);
  EXPECT_EQ(at.not_later_than(1'000'000'001us), start + 999ns);
  std::mt19937_64 random(model::test_seed());
  for (int round = 0; round < 10'000; ++round) {
    const auto passed = std::chrono::microseconds(random() % 86'400'000'000);
    const auto travel = std::chrono::microseconds(random() % 1'000'000);
    const auto permille = static_cast<int>(random() % 3) - 1;  // how much faster our clock runs
    const auto ours = [&](std::chrono::nanoseconds span) { return span + span * permille / 1000; };
    const Instant replied = start + travel;
    ASSERT_LE(at.not_later_than(at.at + passed), replied + ours(passed));
    // Of a grant before the reply: its lease must not seem to end later than it does, when the
    // drift of the whole lease is taken off, as the library does with every lease.
    const std::chrono::nanoseconds lease = passed + std::chrono::milliseconds(random() % 60'000);
    ASSERT_LE(at.not_later_than(at.at - passed) + lease - lease / 1000,
              replied + ours(lease - passed) + 1ns);
  }
}

TEST_F(RedisAttemptsTest, APushBehindItsReplyIsBelieved) {
  EXPECT_FALSE(attempts_.asked(one_, 1));
  EXPECT_FALSE(attempts_.waits(id_of(1), reading));
  const auto verdict = attempts_.granted(grant_of(1));
  EXPECT_EQ(verdict.kind, believe);
  EXPECT_EQ(verdict.operation, one_);
  EXPECT_EQ(verdict.reading.asked, reading.asked);
  EXPECT_EQ(verdict.reading.at, reading.at);
  EXPECT_EQ(attempts_.find(id_of(1)), nullptr);
  EXPECT_EQ(attempts_.granted(grant_of(1)).kind, ghost);  // once only
}

TEST_F(RedisAttemptsTest, APushBeforeItsReplyWaitsForIt) {
  attempts_.asked(one_, 1);
  const auto verdict = attempts_.granted(grant_of(1));
  EXPECT_EQ(verdict.kind, later);
  EXPECT_EQ(verdict.operation, one_);
  EXPECT_EQ(attempts_.find(id_of(1)), one_);
  const auto early = attempts_.waits(id_of(1), reading);
  ASSERT_TRUE(early);
  EXPECT_EQ(early->number, 77U);
  EXPECT_EQ(attempts_.find(id_of(1)), nullptr);
  EXPECT_FALSE(attempts_.waits(id_of(1), reading));
}

TEST_F(RedisAttemptsTest, WhatAReplyHasToldIsNoGhost) {
  attempts_.asked(one_, 1);
  attempts_.decided(id_of(1), true);
  EXPECT_EQ(attempts_.granted(grant_of(1)).kind, known);
  EXPECT_EQ(attempts_.granted(grant_of(1)).kind, ghost);  // it was pushed once
  // No push goes with a grant on the spot, so that one that comes means another.
  attempts_.asked(two_, 1);
  attempts_.decided(id_of(2), false);
  EXPECT_EQ(attempts_.granted(grant_of(2)).kind, ghost);
  // The push came first: no other will.
  attempts_.asked(three_, 1);
  EXPECT_EQ(attempts_.granted(grant_of(3)).kind, later);
  attempts_.decided(id_of(3), true);
  EXPECT_EQ(attempts_.granted(grant_of(3)).kind, ghost);
}

TEST_F(RedisAttemptsTest, AfterTheReleaseNoPushIsExpected) {
  attempts_.asked(one_, 1);
  attempts_.decided(id_of(1), true);
  attempts_.released(id_of(1));
  EXPECT_EQ(attempts_.granted(grant_of(1)).kind, ghost);
}

TEST_F(RedisAttemptsTest, AGrantThatNobodyWantsIsAGhost) {
  EXPECT_EQ(attempts_.granted(grant_of(9)).kind, ghost);
  EXPECT_EQ(attempts_.granted(grant_of(9)).operation, nullptr);
  auto gone = operation_of(4);
  attempts_.asked(gone, 1);
  attempts_.waits(id_of(4), reading);
  gone.reset();
  EXPECT_EQ(attempts_.find(id_of(4)), nullptr);
  EXPECT_EQ(attempts_.granted(grant_of(4)).kind, ghost);
  EXPECT_TRUE(attempts_.is_cancelled(id_of(4)));
  attempts_.decided(id_of(9), true);  // not ours: changes nothing
  EXPECT_EQ(attempts_.granted(grant_of(9)).kind, ghost);
}

TEST_F(RedisAttemptsTest, WhatIsTakenBackIsNotAskedAgain) {
  attempts_.asked(one_, 1);
  attempts_.asked(two_, 1);
  EXPECT_FALSE(attempts_.is_cancelled(id_of(1)));
  EXPECT_TRUE(attempts_.cancelled(one_));
  EXPECT_TRUE(attempts_.is_cancelled(id_of(1)));
  EXPECT_THAT(attempts_.undecided(), ElementsAre(two_));
  EXPECT_EQ(attempts_.find(id_of(1)), one_);  // until the answer to the cancel
  // A push may still come before the server reads the cancel.
  attempts_.waits(id_of(1), reading);
  EXPECT_EQ(attempts_.granted(grant_of(1)).operation, one_);
}

TEST_F(RedisAttemptsTest, WhatNeverLeftIsForgottenWithoutACancel) {
  attempts_.asked(one_, 0);
  EXPECT_THAT(attempts_.undecided(), ElementsAre(one_));
  EXPECT_FALSE(attempts_.cancelled(one_));
  EXPECT_THAT(attempts_.undecided(), IsEmpty());
  EXPECT_TRUE(attempts_.is_cancelled(id_of(1)));
  EXPECT_FALSE(attempts_.cancelled(two_));
  // Where it is not in the table, its own progress tells whether the server may know it.
  three_->sent(start);
  EXPECT_TRUE(attempts_.cancelled(three_));
}

TEST_F(RedisAttemptsTest, ARefusalUndoesOneRequest) {
  attempts_.asked(one_, 1);
  attempts_.refused(id_of(1));
  EXPECT_FALSE(attempts_.cancelled(one_));
  attempts_.asked(two_, 1);
  attempts_.asked(two_, 1);
  attempts_.refused(id_of(2));
  EXPECT_TRUE(attempts_.cancelled(two_));  // the other may have been executed
  attempts_.asked(three_, 1);
  attempts_.waits(id_of(3), reading);
  attempts_.asked(three_, 1);
  attempts_.refused(id_of(3));
  EXPECT_TRUE(attempts_.cancelled(three_));  // it has a place in the queue
  const auto four = operation_of(4);
  attempts_.asked(four, 1);
  attempts_.unanswered(id_of(4), false, start);
  attempts_.refused(id_of(4));
  EXPECT_TRUE(attempts_.cancelled(four));  // a copy may be on its way
  attempts_.refused(id_of(9));
}

TEST_F(RedisAttemptsTest, AnotherServersClockIsReadAnew) {
  attempts_.asked(one_, 1);
  attempts_.waits(id_of(1), reading);
  attempts_.asked(two_, 1);
  EXPECT_EQ(attempts_.granted(grant_of(2)).kind, later);
  attempts_.forget_readings();
  EXPECT_EQ(attempts_.granted(grant_of(1)).kind, later);
  EXPECT_FALSE(attempts_.waits(id_of(2), reading));  // that push was of the server before
  EXPECT_EQ(attempts_.granted(grant_of(2)).kind, believe);
}

TEST_F(RedisAttemptsTest, CopiesStayPossibleForAWhile) {
  EXPECT_FALSE(attempts_.has_copies(id_of(1)));
  attempts_.asked(one_, 1);
  attempts_.unanswered(id_of(1), false, start);
  EXPECT_TRUE(attempts_.has_copies(id_of(1)));
  EXPECT_FALSE(attempts_.has_copies(id_of(2)));
  EXPECT_FALSE(attempts_.release_in_doubt(id_of(1)));
  EXPECT_TRUE(attempts_.asked(one_, 2));
  EXPECT_FALSE(attempts_.asked(two_, 2));
  attempts_.unanswered(id_of(1), true, start + 1min);
  attempts_.unanswered(id_of(1), false, start + 1min);
  EXPECT_TRUE(attempts_.release_in_doubt(id_of(1)));
  // The server refuses late copies for one minute (lock.lua, BURIED); two are remembered here.
  attempts_.unanswered(id_of(2), false, start + 3min);
  EXPECT_TRUE(attempts_.has_copies(id_of(1)));
  attempts_.unanswered(id_of(2), false, start + 3min + 1ns);
  EXPECT_FALSE(attempts_.has_copies(id_of(1)));
  EXPECT_FALSE(attempts_.release_in_doubt(id_of(1)));
  EXPECT_TRUE(attempts_.has_copies(id_of(2)));
}

TEST_F(RedisAttemptsTest, TheUndecidedInTheOrderTheyCame) {
  for (const auto& each : {three_, one_, two_}) attempts_.asked(each, 5);
  EXPECT_THAT(attempts_.undecided(), ElementsAre(one_, two_, three_));
  attempts_.asked(two_, 6);
  attempts_.asked(two_, 4);  // an older number changes nothing
  EXPECT_THAT(attempts_.undecided(6), ElementsAre(one_, three_));
  EXPECT_THAT(attempts_.undecided(5), ElementsAre(two_));
  one_->failed({Errc::closed, "closed"});
  EXPECT_THAT(attempts_.undecided(), ElementsAre(two_, three_));
  attempts_.decided(id_of(3), false);
  EXPECT_THAT(attempts_.undecided(), ElementsAre(two_));
}

TEST_F(RedisAttemptsTest, LooksAreDueInOrderAndOnce) {
  EXPECT_EQ(attempts_.next_look(), never);
  EXPECT_THAT(attempts_.looks(never), IsEmpty());
  const auto four = operation_of(4);
  for (const auto& each : {one_, two_, three_, four}) attempts_.asked(each, 1);
  attempts_.look_at(id_of(1), start + 3s);
  EXPECT_EQ(attempts_.next_look(), start + 3s);
  attempts_.look_at(id_of(2), start + 1s);
  attempts_.look_at(id_of(3), start + 2s);
  attempts_.look_at(id_of(4), start + 4s);
  EXPECT_EQ(attempts_.next_look(), start + 1s);
  EXPECT_THAT(attempts_.looks(start + 1s - 1ns), IsEmpty());
  EXPECT_THAT(attempts_.looks(start + 2s), ElementsAre(two_, three_));
  EXPECT_EQ(attempts_.next_look(), start + 3s);
  EXPECT_THAT(attempts_.looks(start + 2s), IsEmpty());
  attempts_.decided(id_of(1), false);
  EXPECT_TRUE(attempts_.cancelled(four));
  EXPECT_THAT(attempts_.looks(start + 5s), IsEmpty());  // neither is wanted any more
  EXPECT_EQ(attempts_.next_look(), never);
}

}  // namespace
}  // namespace mortise::redis
