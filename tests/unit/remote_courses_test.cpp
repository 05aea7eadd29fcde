// SPDX-License-Identifier: MIT
// Goal: a client finds each attempt about which something has to be done, and forgets the others.
// Method: the table of attempts alone; the time is an argument.
#include "unit/remote_courses_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using State = AttemptCourse::State;

class RemoteCourses : public CoursesFixture {
 protected:
  [[nodiscard]] bool stands(const HoldId& hold, Instant now) const {
    return table_.ask(hold.attempt,
                      [&](const auto& course) { return course.stands(hold.number, now); });
  }
  void refuse(std::uint64_t sequence) {
    table_.on(id_of(sequence), [](Entry& entry) { entry.course.refuse(); });
  }
};

TEST_F(RemoteCourses, ListTheUndecidedInTheOrderInWhichTheyWereMade) {
  for (const auto& each : {three_, one_, two_}) table_.asked(each, 5);
  EXPECT_THAT(table_.undecided(), ElementsAre(one_, two_, three_));
  EXPECT_TRUE(table_.asked(two_, 6, true));
  EXPECT_FALSE(table_.asked(two_, 6, true));  // by another thread that found it undecided
  EXPECT_THAT(table_.undecided(6), ElementsAre(one_, three_));
  EXPECT_THAT(table_.undecided(5), ElementsAre(two_));
  one_->failed({Errc::closed, "closed"});
  EXPECT_THAT(table_.undecided(), ElementsAre(two_, three_));
  table_.over(id_of(3));
  EXPECT_THAT(table_.undecided(), ElementsAre(two_));
}

TEST_F(RemoteCourses, ForgetWhatNeverLeftWithoutACancel) {
  table_.wanted(one_);
  EXPECT_THAT(table_.undecided(), ElementsAre(one_));
  EXPECT_FALSE(table_.cancelled(one_));
  EXPECT_THAT(table_.undecided(), IsEmpty());
  EXPECT_TRUE(table_.is_withdrawn(id_of(1)));
  EXPECT_EQ(table_.size(), 0U);
  EXPECT_FALSE(table_.cancelled(two_));
  // If it is not in the table, its own progress tells whether the server may know it.
  three_->sent(start);
  EXPECT_TRUE(table_.cancelled(three_));
}

TEST_F(RemoteCourses, ARefusalUndoesOneRequest) {
  table_.asked(one_, 1);
  refuse(1);
  EXPECT_FALSE(table_.cancelled(one_));
  table_.asked(two_, 1);
  table_.asked(two_, 1);
  refuse(2);
  EXPECT_TRUE(table_.cancelled(two_)) << "the other one may have been executed";
  const auto four = operation_of(4);
  table_.asked(four, 1);
  table_.request_lost(four, {.noted = start}, start);
  refuse(4);
  EXPECT_TRUE(table_.cancelled(four)) << "a copy may be on its way";
  refuse(9);
}

// The library tells nothing of a hold that ended without a release.
TEST_F(RemoteCourses, ForgetHoldsThatEndedWithoutARelease) {
  for (std::uint64_t i = 1; i <= 3'000; ++i) {
    table_.held(id_of(i), 77, start + i * 1s, start + i * 1s + 30s);
  }
  EXPECT_LT(table_.size(), 500U);
  EXPECT_EQ(state_of(3'000), State::held);
  EXPECT_EQ(state_of(1), State::wanted) << "as if it had never been asked for";
}

TEST_F(RemoteCourses, DoNotForgetWhatIsRenewed) {
  hold(1);
  for (std::uint64_t i = 2; i <= 3'000; ++i) {
    table_.renewed({{.hold = hold_of(1),
                     .lease = 30s,
                     .answer = Renewal::Answer::renewed,
                     .counted_from = start + i * 1s,
                     .granted = 30s}});
    table_.held(id_of(i), 77, start + i * 1s, start + i * 1s + 30s);
  }
  EXPECT_EQ(state_of(1), State::held);
  EXPECT_TRUE(stands(hold_of(1), start + 3'029s));
}

// A caller that ends without a cancel leaves nothing but a weak reference.
TEST_F(RemoteCourses, ForgetWaitersThatAreGone) {
  for (std::uint64_t i = 1; i <= 100; ++i) table_.asked(operation_of(i), 1);
  EXPECT_EQ(table_.size(), 100U);
  for (std::uint64_t i = 101; i <= 200; ++i) {
    hold(i);
    table_.released(id_of(i), 77);
  }
  EXPECT_EQ(table_.size(), 0U);
}

TEST_F(RemoteCourses, KeepAnOperationAsLongAsALostRequestMayTakeAHoldForIt) {
  auto operation = operation_of(4);
  const std::weak_ptr<Acquisition> seen = operation;
  table_.asked(operation, 1);
  table_.request_lost(operation, {.after = 1s, .clock = 7, .noted = start}, start + 1s);
  operation->failed({Errc::closed, "closed"});
  table_.over(id_of(4));
  operation.reset();
  EXPECT_FALSE(seen.expired());
  EXPECT_EQ(state_of(4), State::gone);
  table_.executed(id_of(4), 1s + 1us, 7, start + 1s);
  EXPECT_TRUE(seen.expired());
  EXPECT_EQ(table_.size(), 0U);
  EXPECT_FALSE(table_.may_any_be_pending(start));
}

// With `replicas=n` its hold may be given back while its caller waits. The caller asks again, and a
// lost request must not keep it from that.
TEST_F(RemoteCourses, AskAgainAfterAHoldThatWasGivenBackAlthoughARequestIsLost) {
  EXPECT_TRUE(table_.asked(one_, 1));
  table_.request_lost(one_, {.after = 5s, .clock = 7, .noted = start}, start + 5s);
  hold(1);
  table_.on(id_of(1), [](Entry& entry) { EXPECT_TRUE(entry.course.reject(77)); });
  EXPECT_FALSE(table_.asked(one_, 2)) << "the release is on its way";
  table_.released(id_of(1), 77);
  table_.wanted(one_);
  EXPECT_THAT(table_.undecided(), ElementsAre(one_)) << "for the next connection";
  EXPECT_TRUE(table_.asked(one_, 2));
  EXPECT_FALSE(table_.is_withdrawn(id_of(1)));
  EXPECT_TRUE(table_.ask(id_of(1), [](const auto& course) { return course.lost().any(); }));
  EXPECT_EQ(table_.next_look(), never) << "its next request shows it";
}

// The release is given up after a minute, and no caller has to ask again. So no next request shows
// what the lost one took.
TEST_F(RemoteCourses, LookForALostRequestAlthoughTheReleaseOfItsHoldIsGivenUp) {
  EXPECT_TRUE(table_.asked(one_, 1));
  table_.request_lost(one_, {.after = 5s, .clock = 7, .noted = start}, start + 5s);
  hold(1);
  table_.on(id_of(1), [](Entry& entry) { EXPECT_FALSE(entry.course.release(77)); });
  for (std::uint64_t i = 2; i <= 9; ++i) hold(i);
  EXPECT_TRUE(table_.may_any_be_pending(start))
      << "the grants of other attempts are no reason to forget it";
  EXPECT_EQ(table_.next_look(), start + 5s);
  EXPECT_THAT(table_.begin_looks(start + 5s, false), ElementsAre(one_));
}

// No grant comes from a server whose connections break.
TEST_F(RemoteCourses, ForgetLostRequestsAlthoughNothingIsGranted) {
  for (std::uint64_t i = 1; i <= 3'000; ++i) {
    const auto operation = operation_of(i);
    const Instant now = start + i * 1s;
    EXPECT_TRUE(table_.asked(operation, i));
    table_.request_lost(operation, {.after = 5s, .clock = 7, .noted = now}, now);
    operation->failed({Errc::timeout, "no answer"});
    EXPECT_TRUE(table_.cancelled(operation));
  }
  EXPECT_LT(table_.size(), 500U);
}

// close() looks at once, and does not wait for what cannot be seen in time.
TEST_F(RemoteCourses, HurryAtTheEnd) {
  table_.request_lost(one_, {.after = 5s, .clock = 7, .noted = start}, start + 5s);
  EXPECT_FALSE(table_.is_any_pending(start, start + 1s));
  table_.hurry(start);
  EXPECT_TRUE(table_.is_any_pending(start, start + 1s));
  EXPECT_THAT(table_.begin_looks(start, false), ElementsAre(one_));
}

// The reader has not locked the courses. The next look at them finds its notes.
// Promise: S1
TEST_F(RemoteCourses, WhatAReaderHasNotedIsBroughtAboutBeforeAnythingElse) {
  CourseNews news;
  board_.follow(news);
  for (const auto& each : {one_, two_}) ASSERT_TRUE(table_.asked(each, 5));
  const Instant end = start + 30s;
  for (const std::uint64_t each : {1U, 2U}) {
    ASSERT_TRUE(news.note(
        {.attempt = id_of(each), .number = 77, .now = start, .until = end, .is_grant = true}));
  }
  EXPECT_EQ(state_of(1), State::held);
  EXPECT_TRUE(stands(hold_of(1), end - 1ns));
  EXPECT_FALSE(stands(hold_of(1), end));
  EXPECT_THAT(table_.undecided(), IsEmpty());
  ASSERT_TRUE(news.note({.attempt = id_of(1), .number = 77}));
  ASSERT_TRUE(news.note({.attempt = id_of(2), .number = 76}));
  EXPECT_FALSE(table_.asked(two_, 6)) << "to ask for an attempt looks, too";
  EXPECT_EQ(state_of(2), State::held) << "that release was of another hold";
  EXPECT_EQ(table_.size(), 1U) << "the other one is over";
}

// A caller has its lock as soon as the reader has noted the grant. Then only its course is left.
// Promise: S6
TEST_F(RemoteCourses, NewsOfOneAttemptDoNotForgetAnotherThatIsNotLearned) {
  CourseNews news;
  board_.follow(news);
  for (const std::uint64_t each : {11U, 12U, 13U}) {
    ASSERT_TRUE(table_.asked(operation_of(each), 5));
    ASSERT_TRUE(news.note({.attempt = id_of(each),
                           .number = 77,
                           .now = start,
                           .until = start + 30s,
                           .is_grant = true}));
  }
  for (const std::uint64_t each : {11U, 12U, 13U}) EXPECT_TRUE(stands(hold_of(each), start));
}

// The reader notes a grant after another thread has locked the courses.
// Promise: S6
TEST_F(RemoteCourses, AnAttemptWhoseGrantIsNotLearnedIsNotForgotten) {
  CourseNews news;
  board_.follow(news);
  ASSERT_TRUE(table_.asked(operation_of(11), 5));
  ASSERT_TRUE(news.note(
      {.attempt = id_of(11), .number = 77, .now = start, .until = start + 30s, .is_grant = true}));
  hold(12);  // under the mutex already
  EXPECT_TRUE(stands(hold_of(11), start));
}

TEST_F(RemoteCourses, NewsOfAnAttemptThatIsOverAreNone) {
  CourseNews news;
  board_.follow(news);
  ASSERT_TRUE(news.note({.attempt = id_of(1), .number = 77, .is_grant = true}));
  EXPECT_EQ(table_.size(), 0U);
}

TEST_F(RemoteCourses, AReaderNotesNothingIfThereIsNoRoomOrALookIsPlanned) {
  CourseNews news;
  board_.follow(news);
  std::size_t noted = 0;
  while (news.note({.attempt = id_of(9), .number = 77})) ASSERT_LT(++noted, 100U);
  EXPECT_GE(noted, 4U);
  EXPECT_EQ(table_.size(), 0U);  // looks
  EXPECT_TRUE(news.note({.attempt = id_of(9), .number = 77}));
  ASSERT_TRUE(table_.asked(one_, 5));
  table_.request_lost(one_, {.noted = start}, start);
  EXPECT_FALSE(news.note({.attempt = id_of(9)})) << "it may show what the lost request took";
  one_->failed({Errc::closed, "closed"});
  table_.on(id_of(1), [](Entry& entry) {
    entry.course.finish();
    entry.course.lost().clear();
  });
  EXPECT_TRUE(news.note({.attempt = id_of(9)}));
}

}  // namespace
}  // namespace mortise::remote
