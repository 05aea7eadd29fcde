// SPDX-License-Identifier: MIT
// Goal: a push means what it should in every order of replies and pushes. Method: the table alone,
// event by event, with the clock handed in.
#include "unit/redis_attempts_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <vector>

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
  EXPECT_EQ(verdict.kind, later);
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
            orphaned_grant);  // granted once more, to nobody
}

// In a cluster the connection to the next server may be older than that to the one before.
TEST_F(RedisAttemptsTest, OneThatIsToBeAskedOnceIsAskedOnceByAnOlderConnectionToo) {
  EXPECT_TRUE(attempts_.asked(one_, 9));
  EXPECT_TRUE(attempts_.asked(one_, 7, true));
  EXPECT_FALSE(attempts_.asked(one_, 7, true));
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
  EXPECT_TRUE(attempts_.is_decided(id_of(1)));
  attempts_.held(id_of(1), 79, start, start + 30s);
  one_->granted({.number = 79, .counted_from = start, .lease = 30s});
  attempts_.completed(*one_);
  one_->granted({.number = 77, .counted_from = start, .lease = 2s});  // the first thread: too late
  attempts_.completed(*one_);
  attempts_.released(id_of(1), 77);  // which it gives back
  EXPECT_EQ(attempts_.granted(grant_of(1, 79)).kind, known);
  EXPECT_TRUE(attempts_.stands({.name = "a", .attempt = id_of(1), .number = 79}, start + 29s));
  attempts_.released(id_of(1), 79);
  EXPECT_EQ(attempts_.size(), 0U);
  attempts_.completed(*one_);  // a thread that comes after all that
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
  EXPECT_EQ(attempts_.granted(grant_of(2, 77)).kind, later);
  EXPECT_FALSE(attempts_.waits(id_of(2), reading, 77));
  EXPECT_EQ(attempts_.find(id_of(2)), two_);
  EXPECT_EQ(attempts_.granted(grant_of(2, 78)).kind, believe);
  // Two that came first: only the newer one can be true.
  attempts_.asked(three_, 1);
  EXPECT_EQ(attempts_.granted(grant_of(3, 79)).kind, later);
  EXPECT_EQ(attempts_.granted(grant_of(3, 78)).kind, later);
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

TEST_F(RedisAttemptsTest, HoldsThatEndedUntoldAreForgottenInTheEnd) {
  for (std::uint64_t i = 1; i <= 3'000; ++i) {
    attempts_.held(id_of(i), 77, start + i * 1s, start + i * 1s + 30s);
  }
  EXPECT_LT(attempts_.size(), 1'100U);
  EXPECT_EQ(attempts_.granted(grant_of(3'000)).kind, known);
  EXPECT_EQ(attempts_.granted(grant_of(1)).kind, orphaned_grant);
}

TEST_F(RedisAttemptsTest, WhatIsRenewedIsNotForgotten) {
  attempts_.held(id_of(1), 77, start, start + 30s);
  const HoldId hold{.name = "a", .attempt = id_of(1), .number = 77};
  for (std::uint64_t i = 2; i <= 3'000; ++i) {
    attempts_.renewed({{.hold = hold,
                        .lease = 30s,
                        .answer = Renewal::Answer::renewed,
                        .counted_from = start + i * 1s,
                        .granted = 30s}});
    attempts_.held(id_of(i), 77, start + i * 1s, start + i * 1s + 30s);
  }
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
  EXPECT_EQ(attempts_.granted(grant_of(1)).kind, orphaned_grant);
  EXPECT_EQ(attempts_.size(), 0U);
}

// Its release may take long to the server, and it is short all the same (beside Redisson).
TEST_F(RedisAttemptsTest, AHoldThatIsToBeReleasedDoesNotStand) {
  const HoldId hold{.name = "a", .attempt = id_of(1), .number = 77};
  EXPECT_TRUE(attempts_.asked(one_, 1));
  attempts_.leaves(hold);
  attempts_.held(id_of(1), 77, start, start + 30s);
  EXPECT_TRUE(attempts_.stands(hold, start)) << "it was asked for before there was any";
  attempts_.leaves({.name = "a", .attempt = id_of(1), .number = 76});
  EXPECT_TRUE(attempts_.stands(hold, start)) << "that was another hold";
  attempts_.leaves(hold);
  EXPECT_FALSE(attempts_.stands(hold, start));
}

// It asked more than once, and was granted the lock, which was taken by force before a later look.
TEST_F(RedisAttemptsTest, WhoWaitsBehindItsOwnGrantHoldsNoLonger) {
  EXPECT_TRUE(attempts_.asked(one_, 1));
  EXPECT_EQ(attempts_.ends(id_of(1), 80, start), std::nullopt) << "it holds nothing";
  attempts_.held(id_of(1), 77, start, start + 30s);
  EXPECT_EQ(attempts_.ends(id_of(1), 0, start), std::nullopt) << "no number was told";
  EXPECT_EQ(attempts_.ends(id_of(1), 76, start), std::nullopt) << "of before the grant";
  EXPECT_TRUE(attempts_.stands({.name = "a", .attempt = id_of(1), .number = 77}, start));
  EXPECT_EQ(attempts_.ends(id_of(1), 77, start), 77U);
  EXPECT_FALSE(attempts_.stands({.name = "a", .attempt = id_of(1), .number = 77}, start));
  EXPECT_EQ(attempts_.ends(id_of(1), 78, start), std::nullopt) << "told already";
}

TEST_F(RedisAttemptsTest, AGrantThatNobodyWantsIsAnOrphanedGrant) {
  EXPECT_EQ(attempts_.granted(grant_of(9)).kind, orphaned_grant);
  EXPECT_EQ(attempts_.granted(grant_of(9)).operation, nullptr);
  auto gone = operation_of(4);
  attempts_.asked(gone, 1);
  attempts_.waits(id_of(4), reading, 76);
  gone.reset();
  EXPECT_EQ(attempts_.find(id_of(4)), nullptr);
  EXPECT_EQ(attempts_.granted(grant_of(4)).kind, orphaned_grant);
  EXPECT_TRUE(attempts_.is_withdrawn(id_of(4)));
  attempts_.over(id_of(9));  // not ours: changes nothing
  EXPECT_EQ(attempts_.granted(grant_of(9)).kind, orphaned_grant);
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

TEST_F(RedisAttemptsTest, WhatNeverLeftIsForgottenWithoutACancel) {
  attempts_.wanted(one_);
  EXPECT_THAT(attempts_.undecided(), ElementsAre(one_));
  EXPECT_FALSE(attempts_.cancelled(one_));
  EXPECT_THAT(attempts_.undecided(), IsEmpty());
  EXPECT_TRUE(attempts_.is_withdrawn(id_of(1)));
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
  attempts_.waits(id_of(3), reading, 76);
  attempts_.asked(three_, 1);
  attempts_.refused(id_of(3));
  EXPECT_TRUE(attempts_.cancelled(three_));  // it has a place in the queue
  const auto four = operation_of(4);
  attempts_.asked(four, 1);
  attempts_.unanswered(four, {.noted = start}, start);
  attempts_.refused(id_of(4));
  EXPECT_TRUE(attempts_.cancelled(four));  // a copy may be on its way
  attempts_.refused(id_of(9));
}

TEST_F(RedisAttemptsTest, AnotherServersClockIsReadAnew) {
  attempts_.asked(one_, 1);
  attempts_.waits(id_of(1), reading, 80);
  attempts_.asked(two_, 1);
  EXPECT_EQ(attempts_.granted(grant_of(2)).kind, later);
  attempts_.asked(three_, 1);
  attempts_.waits(id_of(3), reading, 76);
  attempts_.told(id_of(3), 76);
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
  EXPECT_EQ(attempts_.concluded(id_of(3)), 0U);
}

// It was granted by a server that went down before its reply was read. The next one there has
// nothing of that, and a clock that is behind; its own grant is read before its reply, too.
TEST_F(RedisAttemptsTest, WhatAServerThatIsGoneHasToldHidesNoPushOfTheNext) {
  attempts_.asked(one_, 1);
  Push push = grant_of(1, 80);
  push.clock = reading.clock + 1;
  EXPECT_EQ(attempts_.granted(push).kind, later);
  push.number = 77;
  push.clock = reading.clock + 2;
  EXPECT_EQ(attempts_.granted(push).kind, later);
  push.number = 90;
  push.clock = 0;  // by whose clock is not known
  EXPECT_EQ(attempts_.granted(push).kind, later);
  Reading anew = reading;
  anew.clock += 2;
  const auto early = attempts_.waits(id_of(1), anew, 76);
  ASSERT_TRUE(early) << "it would wait until it asks by itself";
  EXPECT_EQ(early->number, 77U);
}

TEST_F(RedisAttemptsTest, TheUndecidedInTheOrderTheyCame) {
  for (const auto& each : {three_, one_, two_}) attempts_.asked(each, 5);
  EXPECT_THAT(attempts_.undecided(), ElementsAre(one_, two_, three_));
  EXPECT_TRUE(attempts_.asked(two_, 6, true));
  EXPECT_FALSE(attempts_.asked(two_, 6, true));  // by another thread that found it undecided
  EXPECT_THAT(attempts_.undecided(6), ElementsAre(one_, three_));
  EXPECT_THAT(attempts_.undecided(5), ElementsAre(two_));
  one_->failed({Errc::closed, "closed"});
  EXPECT_THAT(attempts_.undecided(), ElementsAre(two_, three_));
  attempts_.over(id_of(3));
  EXPECT_THAT(attempts_.undecided(), ElementsAre(two_));
}

// Promise: L5
TEST_F(RedisAttemptsTest, OneRequestRenewsThePlacesOfAllThatWait) {
  for (const auto& each : {one_, two_, three_}) {
    attempts_.asked(each, 1);
    EXPECT_THAT(attempts_.to_place(each, start).value(), IsEmpty()) << "it has no place";
    attempts_.waits(each->request().attempt, reading, 76);
    attempts_.placed(each->request().attempt, start);
  }
  EXPECT_FALSE(attempts_.to_place(one_, start + 499ms)) << "its place was renewed just now";
  EXPECT_THAT(attempts_.to_place(two_, start + 1s).value(),
              ::testing::UnorderedElementsAre(one_, two_, three_));
  EXPECT_FALSE(attempts_.to_place(one_, start + 1s));
  EXPECT_TRUE(attempts_.cancelled(one_));
  ASSERT_EQ(attempts_.granted(grant_of(2)).kind, believe);
  EXPECT_THAT(attempts_.to_place(three_, start + 2s).value(), IsEmpty()) << "it waits alone";
}

// The attempt that renewed its place leaves before the next turn.
// Promise: L2
TEST_F(RedisAttemptsTest, AWaiterWhoseTurnWasLeftOutAsksASecondAfterItsPlaceWasRenewed) {
  for (const auto& each : {one_, two_}) {
    attempts_.asked(each, 1);
    attempts_.waits(each->request().attempt, reading, 76);
    attempts_.placed(each->request().attempt, start);
  }
  ASSERT_TRUE(attempts_.to_place(one_, start + 1s));
  EXPECT_EQ(attempts_.next_place(), never);
  EXPECT_FALSE(attempts_.to_place(two_, start + 1450ms));
  EXPECT_EQ(attempts_.next_place(), start + 2s);
  EXPECT_EQ(attempts_.unplaced(start + 2s - 1ns), nullptr);
  ASSERT_TRUE(attempts_.to_place(one_, start + 1900ms));
  EXPECT_EQ(attempts_.unplaced(start + 2s), nullptr) << "the other one has asked for it";
  EXPECT_EQ(attempts_.next_place(), start + 2900ms);
  EXPECT_TRUE(attempts_.cancelled(one_));
  EXPECT_EQ(attempts_.unplaced(start + 2900ms), two_);
  ASSERT_TRUE(attempts_.to_place(two_, start + 2900ms));
  EXPECT_EQ(attempts_.unplaced(start + 4s), nullptr) << "its own turns go on";
  EXPECT_EQ(attempts_.next_place(), never);
}

TEST_F(RedisAttemptsTest, OneRequestRenewsNoMorePlacesThanOneScriptCan) {
  std::vector<std::shared_ptr<Acquisition>> all;
  for (std::uint64_t i = 1; i <= 300; ++i) {
    all.push_back(operation_of(i));
    attempts_.asked(all.back(), 1);
    attempts_.waits(id_of(i), reading, 76);
    attempts_.placed(id_of(i), start);
  }
  std::set<std::shared_ptr<Acquisition>> placed;
  std::size_t requests = 0;
  for (const auto& each : all) {
    const auto together = attempts_.to_place(each, start + 1s);
    if (!together) continue;
    ++requests;
    EXPECT_LE(together->size(), 128U);
    placed.insert(together->begin(), together->end());
  }
  EXPECT_EQ(requests, 3U);
  EXPECT_EQ(placed.size(), 300U);
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
  attempts_.over(id_of(1));
  EXPECT_TRUE(attempts_.cancelled(four));
  EXPECT_THAT(attempts_.looks(start + 5s), IsEmpty());  // neither is wanted any more
  EXPECT_EQ(attempts_.next_look(), never);
}

// With replicas=n, where a reply and a push tell of one grant, and replicas are asked twice.
TEST_F(RedisAttemptsTest, WhatWasGivenBackIsNotToldAndWhatWasToldIsNotGivenBack) {
  const auto hold = [](std::uint64_t sequence) {
    return HoldId{.name = "a", .attempt = id_of(sequence), .number = 77};
  };
  const auto grant = [&](const Attempts::Operation& operation) {
    const std::lock_guard lock(mutex_);
    ASSERT_TRUE(attempts_.asked(operation, 1));
    EXPECT_EQ(attempts_.held(operation->request().attempt, 77, start, start + 2s), 77U);
  };
  grant(one_);
  EXPECT_TRUE(attempts_.unattested(hold(1)));
  EXPECT_FALSE(attempts_.attested(hold(1), start));
  EXPECT_FALSE(attempts_.unattested(hold(1))) << "it is on its way back already";
  grant(two_);
  EXPECT_TRUE(attempts_.attested(hold(2), start));
  EXPECT_FALSE(attempts_.unattested(hold(2)));
  EXPECT_TRUE(attempts_.attested(hold(2), start));
  grant(three_);
  EXPECT_FALSE(attempts_.attested(hold(3), start + 2s)) << "over";
  EXPECT_EQ(attempts_.number_of(id_of(3)), 77U);
  attempts_.left({.name = "a", .attempt = id_of(3), .number = 76});
  EXPECT_TRUE(attempts_.is_decided(id_of(3)));
  attempts_.left(hold(3));
  EXPECT_FALSE(attempts_.is_decided(id_of(3))) << "it may be asked for anew";
}

}  // namespace
}  // namespace mortise::redis
