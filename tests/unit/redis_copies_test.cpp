// SPDX-License-Identifier: MIT
// Goal: no late copy and no release in doubt is forgotten too early. Method: the table alone, event
// by event, with the clock handed in.
#include "unit/redis_attempts_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace mortise::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using enum Attempts::Verdict::Kind;

class RedisCopiesTest : public AttemptsFixture {};

TEST_F(RedisCopiesTest, CopiesStayPossibleForAWhile) {
  EXPECT_FALSE(attempts_.has_copies(id_of(1)));
  attempts_.asked(one_, 1);
  attempts_.unanswered(id_of(1), 0, 1, start);
  EXPECT_TRUE(attempts_.has_copies(id_of(1)));
  EXPECT_FALSE(attempts_.has_copies(id_of(2)));
  EXPECT_FALSE(attempts_.released(id_of(1), 77));
  attempts_.unanswered(id_of(1), 77, 2, start + 1min);
  attempts_.unanswered(id_of(1), 0, 2, start + 1min);
  // The server refuses late copies for one minute (prelude.lua, TOMBSTONE_LIFE); two are remembered
  // here.
  attempts_.unanswered(id_of(2), 0, 2, start + 3min);
  EXPECT_TRUE(attempts_.has_copies(id_of(1)));
  attempts_.unanswered(id_of(2), 0, 2, start + 3min + 1s);
  EXPECT_FALSE(attempts_.has_copies(id_of(1)));
  EXPECT_FALSE(attempts_.released(id_of(1), 77));
  EXPECT_TRUE(attempts_.has_copies(id_of(2)));
}

// It was told by a message that it has the lock, while it had asked once more: if that grant was
// over when the question came, the question has taken the lock again, for nobody.
TEST_F(RedisCopiesTest, WhatALostAnswerMayHaveTakenIsALeftoverOfWhoeverIsDecided) {
  attempts_.asked(one_, 1);
  attempts_.waits(id_of(1), reading, 76);
  attempts_.asked(one_, 1);
  attempts_.unanswered(id_of(1), 0, 1, start, one_);
  EXPECT_TRUE(attempts_.is_leftover(id_of(1)));
  EXPECT_THAT(attempts_.leftovers(), IsEmpty());  // it is asked for again, and so is told
  EXPECT_FALSE(attempts_.takes_back(start));
  EXPECT_EQ(attempts_.granted(grant_of(1)).kind, believe);
  EXPECT_TRUE(attempts_.takes_back(start));
  EXPECT_THAT(attempts_.leftovers(), ElementsAre(one_));
  EXPECT_THAT(attempts_.leftovers(), IsEmpty());  // once is enough
  attempts_.put_back(id_of(1));
  EXPECT_THAT(attempts_.leftovers(), ElementsAre(one_));
  attempts_.answered(id_of(1), 2, false);
  attempts_.released(id_of(1), 77);
  EXPECT_FALSE(attempts_.has_copies(id_of(1)));
  EXPECT_TRUE(attempts_.is_leftover(id_of(1)));  // the release's answer does not tell
  attempts_.answered(id_of(1), 2);
  EXPECT_FALSE(attempts_.is_leftover(id_of(1)));
  EXPECT_FALSE(attempts_.takes_back(start));
  attempts_.unanswered(id_of(2), 0, 2, start, two_);
  EXPECT_TRUE(attempts_.takes_back(start + 2min));
  EXPECT_FALSE(attempts_.takes_back(start + 2min + 1s));  // there are no copies so late
}

// Of one that a message decides after the connection is up, nobody asks any more.
TEST_F(RedisCopiesTest, WhatACopyHasTakenIsAskedForWhenItsAttemptIsDecidedLater) {
  attempts_.asked(one_, 1);
  attempts_.waits(id_of(1), reading, 76);
  EXPECT_EQ(attempts_.leftover(id_of(1)), nullptr);
  attempts_.unanswered(id_of(1), 0, 1, start, one_);
  attempts_.asked(one_, 2);  // which the server refuses
  attempts_.refused(id_of(1));
  EXPECT_THAT(attempts_.leftovers(), IsEmpty());
  EXPECT_EQ(attempts_.leftover(id_of(1)), nullptr) << "it is asked for again, and so is told";
  ASSERT_EQ(attempts_.granted(grant_of(1)).kind, believe);
  EXPECT_EQ(attempts_.leftover(id_of(1)), one_);
  EXPECT_EQ(attempts_.leftover(id_of(1)), nullptr) << "once is enough";
  attempts_.answered(id_of(1), 2);
  EXPECT_FALSE(attempts_.is_leftover(id_of(1)));
}

// Telling the server once is enough: each time costs it, for each who waits.
TEST_F(RedisCopiesTest, CopiesAreRefusedOnceANewerRequestWasAnswered) {
  attempts_.asked(one_, 3);
  attempts_.unanswered(id_of(1), 77, 3, start);
  attempts_.answered(id_of(1), 3);  // of that connection still
  EXPECT_TRUE(attempts_.has_copies(id_of(1)));
  attempts_.answered(id_of(1), 4);
  EXPECT_FALSE(attempts_.has_copies(id_of(1)));
  attempts_.unanswered(id_of(1), 0, 4, start + 1s);
  EXPECT_TRUE(attempts_.has_copies(id_of(1)));  // there are newer ones
  attempts_.answered(id_of(1), 5);
  attempts_.held(id_of(1), 77, start, start + 30s);
  EXPECT_TRUE(attempts_.released(id_of(1), 77)) << "in doubt until that is answered as well";
  EXPECT_FALSE(attempts_.released(id_of(1), 77));
}

// A late copy took the lock once more for the same attempt, and that is given back meanwhile.
TEST_F(RedisCopiesTest, AReleaseIsInDoubtByItsNumber) {
  attempts_.asked(one_, 3);
  attempts_.unanswered(id_of(1), 77, 3, start);
  EXPECT_FALSE(attempts_.released(id_of(1), 78)) << "of that one nothing was unanswered";
  EXPECT_TRUE(attempts_.released(id_of(1), 77));
}

}  // namespace
}  // namespace mortise::redis
