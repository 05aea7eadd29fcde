// SPDX-License-Identifier: MIT
// Goal: a push means what it should in every order of replies and pushes. Method: the table alone,
// event by event, with the clock handed in.
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

class RedisAttemptsTest : public AttemptsFixture {};

TEST_F(RedisAttemptsTest, APushBehindItsReplyIsBelieved) {
  EXPECT_TRUE(attempts_.asked(one_, 1));
  EXPECT_FALSE(attempts_.waits(id_of(1), reading, 76));
  const auto verdict = attempts_.granted(grant_of(1));
  EXPECT_EQ(verdict.kind, believe);
  EXPECT_EQ(verdict.operation, one_);
  EXPECT_EQ(verdict.reading.asked, reading.asked);
  EXPECT_EQ(verdict.reading.at, reading.at);
  EXPECT_EQ(attempts_.find(id_of(1)), nullptr);
  EXPECT_EQ(attempts_.granted(grant_of(1)).kind, known);  // the same hold
}

TEST_F(RedisAttemptsTest, APushBeforeItsReplyWaitsForIt) {
  attempts_.asked(one_, 1);
  const auto verdict = attempts_.granted(grant_of(1));
  EXPECT_EQ(verdict.kind, too_early);
  EXPECT_EQ(verdict.operation, one_);
  EXPECT_EQ(attempts_.find(id_of(1)), one_);
  const auto early = attempts_.waits(id_of(1), reading, 76);
  ASSERT_TRUE(early);
  EXPECT_EQ(early->number, 77U);
  EXPECT_EQ(attempts_.find(id_of(1)), nullptr);
  EXPECT_FALSE(attempts_.waits(id_of(1), reading, 76));
}

// The two connections of a client are read in any order, and one of them may have stood still for
// the time of several grants: a push that tells of an older grant than the hold's is not the push
// that tells of the hold, and the hold's own changes nothing, however often and late it comes.
TEST_F(RedisAttemptsTest, PushesAreToldApartByTheirNumbers) {
  attempts_.asked(one_, 1);
  attempts_.held(id_of(1), 90, start, start + 30s);
  EXPECT_EQ(attempts_.granted(grant_of(1, 77)).kind, known);
  EXPECT_EQ(attempts_.granted(grant_of(1, 90)).kind, known);
  EXPECT_EQ(attempts_.granted(grant_of(1, 90)).kind, known);
  EXPECT_EQ(attempts_.granted(grant_of(1, 91)).kind,
            unwanted);  // granted once more, to nobody
}

// A server that was asked before it was listened to may have been replaced in between.
TEST_F(RedisAttemptsTest, APushIsBelievedOfWhoWasAskedSinceItIsListenedTo) {
  attempts_.asked(one_, 1);
  EXPECT_FALSE(attempts_.waits(id_of(1), reading, 76));
  Push push = grant_of(1);
  push.heard_since = reading.asked + 1ns;
  EXPECT_EQ(attempts_.granted(push).kind, unreadable);
  Reading later = reading;
  later.asked += 1ns;
  EXPECT_TRUE(attempts_.waits(id_of(1), later, 76)) << "it was true all the same";
  attempts_.asked(two_, 1);
  EXPECT_FALSE(attempts_.waits(id_of(2), reading, 77));
  push = grant_of(2, 78);
  push.heard_since = reading.asked;
  EXPECT_EQ(attempts_.granted(push).kind, believe);
}

// A thread has read a push, and stands still; another one reads the answers that the attempt waits
// again and then has the lock, by a later grant, whose push is still to come.
TEST_F(RedisAttemptsTest, TheGrantThatItsOperationTookIsTheOneOfTheHold) {
  attempts_.asked(one_, 1);
  attempts_.waits(id_of(1), reading, 76);
  ASSERT_EQ(attempts_.granted(grant_of(1, 77)).kind, believe);
  attempts_.waits(id_of(1), reading, 78);
  EXPECT_NE(attempts_.number_of(id_of(1)), 0U);
  attempts_.held(id_of(1), 79, start, start + 30s);
  one_->granted({.number = 79, .counted_from = start, .lease = 30s});
  took(*one_);
  one_->granted({.number = 77, .counted_from = start, .lease = 2s});  // the first thread: too late
  took(*one_);
  attempts_.released(id_of(1), 77);  // which it gives back
  EXPECT_EQ(attempts_.granted(grant_of(1, 79)).kind, known);
  EXPECT_TRUE(attempts_.stands({.name = "a", .attempt = id_of(1), .number = 79}, start + 29s));
  attempts_.released(id_of(1), 79);
  EXPECT_EQ(attempts_.size(), 0U);
  took(*one_);  // a thread that comes after all that
  EXPECT_EQ(attempts_.size(), 0U);
}

TEST_F(RedisAttemptsTest, AGrantThatWasOverAtTheReplyIsNotBelieved) {
  attempts_.asked(one_, 1);
  attempts_.waits(id_of(1), reading, 80);  // somebody else was granted 80
  EXPECT_EQ(attempts_.granted(grant_of(1, 77)).kind, known);
  EXPECT_EQ(attempts_.granted(grant_of(1, 80)).kind, known);
  EXPECT_EQ(attempts_.find(id_of(1)), one_);  // it waits as before
  EXPECT_EQ(attempts_.granted(grant_of(1, 81)).kind, believe);
  // The same where the push came first.
  attempts_.asked(two_, 1);
  EXPECT_EQ(attempts_.granted(grant_of(2, 77)).kind, too_early);
  EXPECT_FALSE(attempts_.waits(id_of(2), reading, 77));
  EXPECT_EQ(attempts_.find(id_of(2)), two_);
  EXPECT_EQ(attempts_.granted(grant_of(2, 78)).kind, believe);
  // Two that came first: only the newer one can be true.
  attempts_.asked(three_, 1);
  EXPECT_EQ(attempts_.granted(grant_of(3, 79)).kind, too_early);
  EXPECT_EQ(attempts_.granted(grant_of(3, 78)).kind, too_early);
  const auto early = attempts_.waits(id_of(3), reading, 76);
  ASSERT_TRUE(early);
  EXPECT_EQ(early->number, 79U);
}

TEST_F(RedisAttemptsTest, WhereNoNumberIsToldTheTimeDecides) {
  attempts_.asked(one_, 1);
  attempts_.waits(id_of(1), reading, 0);
  Push push = grant_of(1);
  push.granted_at -= 1us;
  EXPECT_EQ(attempts_.granted(push).kind, known);
  EXPECT_EQ(attempts_.granted(grant_of(1)).kind, believe);
}

// A thread that asks again late must not begin anew what another one has been granted.
TEST_F(RedisAttemptsTest, WhatIsDecidedIsNotAskedForAgain) {
  attempts_.asked(one_, 1);
  EXPECT_FALSE(attempts_.is_withdrawn(id_of(1)));
  attempts_.held(id_of(1), 77, start, start + 30s);
  EXPECT_FALSE(one_->done());
  EXPECT_FALSE(attempts_.asked(one_, 1));
  EXPECT_TRUE(attempts_.is_withdrawn(id_of(1)));
  EXPECT_THAT(attempts_.undecided(), IsEmpty());
  EXPECT_EQ(attempts_.granted(grant_of(1)).kind, known);
  attempts_.over(id_of(1));  // a late "not yours" of the same attempt changes nothing
  EXPECT_EQ(attempts_.granted(grant_of(1)).kind, known);
}

// A push that comes between a release's departure and its answer is no orphaned grant: given back,
// it would free the hold first, and the release would be told that it was lost.
TEST_F(RedisAttemptsTest, AHoldIsKnownUntilItsReleaseIsAnswered) {
  attempts_.asked(one_, 1);
  attempts_.held(id_of(1), 77, start, start + 30s);
  EXPECT_EQ(attempts_.granted(grant_of(1)).kind, known);
  attempts_.released(id_of(1), 76);  // of another grant
  EXPECT_EQ(attempts_.granted(grant_of(1)).kind, known);
  attempts_.released(id_of(1), 77);
  EXPECT_EQ(attempts_.granted(grant_of(1)).kind, unwanted);
  EXPECT_EQ(attempts_.size(), 0U);
}

TEST_F(RedisAttemptsTest, AGrantThatNobodyWantsIsAnOrphanedGrant) {
  EXPECT_EQ(attempts_.granted(grant_of(9)).kind, unwanted);
  EXPECT_EQ(attempts_.granted(grant_of(9)).operation, nullptr);
  auto gone = operation_of(4);
  attempts_.asked(gone, 1);
  attempts_.waits(id_of(4), reading, 76);
  gone.reset();
  EXPECT_EQ(attempts_.find(id_of(4)), nullptr);
  EXPECT_EQ(attempts_.granted(grant_of(4)).kind, unwanted);
  EXPECT_TRUE(attempts_.is_withdrawn(id_of(4)));
  attempts_.over(id_of(9));  // not ours: changes nothing
  EXPECT_EQ(attempts_.granted(grant_of(9)).kind, unwanted);
}

TEST_F(RedisAttemptsTest, WhatIsTakenBackIsNotAskedAgain) {
  attempts_.asked(one_, 1);
  attempts_.asked(two_, 1);
  EXPECT_FALSE(attempts_.is_withdrawn(id_of(1)));
  EXPECT_TRUE(attempts_.cancelled(one_));
  EXPECT_TRUE(attempts_.is_withdrawn(id_of(1)));
  EXPECT_FALSE(attempts_.asked(one_, 2));
  EXPECT_THAT(attempts_.undecided(), ElementsAre(two_));
  EXPECT_EQ(attempts_.find(id_of(1)), one_);  // until the answer to the cancel
  // A push may still come before the server reads the cancel.
  attempts_.waits(id_of(1), reading, 76);
  EXPECT_EQ(attempts_.granted(grant_of(1)).operation, one_);
}

TEST_F(RedisAttemptsTest, AnotherServersClockIsReadAnew) {
  attempts_.asked(one_, 1);
  attempts_.waits(id_of(1), reading, 80);
  attempts_.asked(two_, 1);
  EXPECT_EQ(attempts_.granted(grant_of(2)).kind, too_early);
  attempts_.asked(three_, 1);
  attempts_.waits(id_of(3), reading, 76);
  attempts_.concluded(id_of(3), 76);
  Push push = grant_of(1, 77);
  push.clock = reading.clock + 1;
  EXPECT_EQ(attempts_.granted(push).kind, unreadable) << "it may have lost the last numbers, too";
  Reading anew = reading;
  anew.clock = push.clock;
  const auto early = attempts_.waits(id_of(1), anew, 76);
  ASSERT_TRUE(early);
  EXPECT_EQ(early->number, 77U);
  EXPECT_FALSE(attempts_.waits(id_of(2), anew, 76)) << "that push was of the server before";
  push = grant_of(2);
  push.clock = anew.clock;
  EXPECT_EQ(attempts_.granted(push).kind, believe);
  EXPECT_FALSE(attempts_.waits(id_of(3), anew, 0));
  EXPECT_EQ(attempts_.conclusion_of(id_of(3)), 0U);
}

// It was granted by a server that went down before its reply was read. The next one there has
// nothing of that, and a clock that is behind; its own grant is read before its reply, too.
TEST_F(RedisAttemptsTest, WhatAServerThatIsGoneHasToldHidesNoPushOfTheNext) {
  attempts_.asked(one_, 1);
  Push push = grant_of(1, 80);
  push.clock = reading.clock + 1;
  EXPECT_EQ(attempts_.granted(push).kind, too_early);
  push.number = 77;
  push.clock = reading.clock + 2;
  EXPECT_EQ(attempts_.granted(push).kind, too_early);
  push.number = 90;
  push.clock = 0;  // by whose clock is not known
  EXPECT_EQ(attempts_.granted(push).kind, too_early);
  Reading anew = reading;
  anew.clock += 2;
  const auto early = attempts_.waits(id_of(1), anew, 76);
  ASSERT_TRUE(early) << "it would wait until it asks by itself";
  EXPECT_EQ(early->number, 77U);
}

}  // namespace
}  // namespace mortise::redis
