// SPDX-License-Identifier: MIT
// Goal: an unlock sends its request twice at most, waits no longer than one command timeout, and
// reports no outcome that it does not know. Method: the machine without a client, step by step; the
// time is an argument.
#include "core/release_course.hpp"

#include "core/figures.hpp"

#include <gtest/gtest.h>

namespace mortise::core {
namespace {

using namespace std::chrono_literals;
using Do = ReleaseCourse::Do;
using Exit = NameState::Exit;
using Request = ReleaseCourse::Looked::Request;
using By = ReleaseCourse::Answered::By;

constexpr Instant start{1h};
constexpr Nanos half = 500ms;  // of the command timeout of a lease of 30 s

ReleaseCourse::Action leave(ReleaseCourse& course, Exit exit, bool keeps = false) {
  return course.step(ReleaseCourse::Left{.exit = exit, .keeps = keeps, .lease = 30s});
}
ReleaseCourse::Action look(ReleaseCourse& course, Nanos after, Request request = Request::pending,
                           bool impatient = false) {
  return course.step({.request = request, .impatient = impatient, .now = start + after});
}
/// The request has left once more.
ReleaseCourse::Action sent_again(ReleaseCourse& course, Nanos after,
                                 Request request = Request::pending) {
  return course.step({.request = request, .sent_again = true, .now = start + after});
}
/// @return a call that has sent its release that often.
ReleaseCourse sent(int times = 1, const ReleaseCourse::Plan& plan = {}) {
  ReleaseCourse course(plan);
  EXPECT_EQ(leave(course, Exit::release).what, Do::release);
  EXPECT_EQ(look(course, 0s).what, Do::await);
  if (times > 1) {
    EXPECT_EQ(look(course, half).what, Do::repeat);
    EXPECT_EQ(sent_again(course, half).what, Do::await);
  }
  return course;
}
/// @return the outcome after that answer to a release that was sent that often.
Released outcome_of(By by, int times, bool lease_stands = true,
                    const ReleaseCourse::Plan& plan = {}) {
  ReleaseCourse course = sent(times, plan);
  EXPECT_EQ(look(course, half, Request::over).what, Do::settle);
  EXPECT_EQ(course.step({.by = by, .gone = true, .lease_stands = lease_stands}).what, Do::end);
  return course.outcome();
}

TEST(ReleaseCourseTest, OnlyTheEndOfAHoldIsSent) {
  struct Row {
    Exit exit;
    Released outcome;
  };
  for (const Row row :
       {Row{Exit::not_owner, Released::was_lost}, Row{Exit::was_lost, Released::was_lost},
        Row{Exit::nested, Released::released}, Row{Exit::parted, Released::released},
        Row{Exit::passed, Released::released}}) {
    ReleaseCourse course({.concludes = true, .lease = 30s});
    EXPECT_EQ(ReleaseCourse::start().what, Do::leave);
    EXPECT_EQ(leave(course, row.exit).what, Do::end);
    EXPECT_EQ(course.outcome(), row.outcome);
  }
  ReleaseCourse early({});
  EXPECT_EQ(leave(early, Exit::release, true).what, Do::keep);
}

TEST(ReleaseCourseTest, ARequestIsSentTwiceInOneCommandTimeout) {
  static_assert(command_timeout(30s) == 2 * half);
  ReleaseCourse course({});
  ASSERT_EQ(leave(course, Exit::release).what, Do::release);
  EXPECT_EQ(look(course, 0s).until, start + half);
  EXPECT_EQ(look(course, half - 1ns).what, Do::await);
  EXPECT_EQ(look(course, half).what, Do::repeat);
  EXPECT_EQ(look(course, half).until, start + 2 * half);
  EXPECT_EQ(look(course, 2 * half - 1ns).what, Do::await);
  EXPECT_EQ(look(course, 2 * half).what, Do::settle);
  EXPECT_EQ(course.step(ReleaseCourse::Answered{}).what, Do::entrust);
  EXPECT_TRUE(course.had_its_time());
  EXPECT_EQ(course.step().what, Do::end);
  EXPECT_EQ(course.outcome(), Released::unknown);
}

TEST(ReleaseCourseTest, ARequestThatEndedWithoutAnAnswerIsRepeatedAtOnce) {
  ReleaseCourse course = sent();
  EXPECT_EQ(look(course, 1ms, Request::unanswered).what, Do::repeat);
  EXPECT_EQ(look(course, 2ms, Request::unanswered).what, Do::settle);
}

TEST(ReleaseCourseTest, ACallerWithoutTimeLeavesTheRequestToTheClient) {
  ReleaseCourse course = sent();
  EXPECT_EQ(look(course, 1ms, Request::pending, true).what, Do::settle);
  EXPECT_FALSE(course.had_its_time());
  EXPECT_EQ(course.step(ReleaseCourse::Answered{}).what, Do::entrust);
}

TEST(ReleaseCourseTest, AnAnswerIsNotRepeated) {
  EXPECT_EQ(outcome_of(By::released, 1), Released::released);
  EXPECT_EQ(outcome_of(By::released, 2), Released::released);
  EXPECT_EQ(outcome_of(By::failure, 1), Released::unknown);
  EXPECT_EQ(outcome_of(By::was_lost, 1), Released::was_lost);
  // A name that stays reserved is answered, and has to be released at the end of that time.
  ReleaseCourse course({});
  ASSERT_EQ(leave(course, Exit::release, true).what, Do::keep);
  EXPECT_EQ(look(course, 0s, Request::over).what, Do::settle);
  EXPECT_EQ(course.step({.by = By::released, .gone = false}).what, Do::entrust);
  EXPECT_EQ(course.outcome(), Released::released);
}

TEST(ReleaseCourseTest, ARepeatedReleaseMayFindWhatTheFirstOneLeft) {
  EXPECT_EQ(outcome_of(By::was_lost, 2), Released::released);
  EXPECT_EQ(outcome_of(By::was_lost, 2, false), Released::was_lost);
  ReleaseCourse kept({});
  ASSERT_EQ(leave(kept, Exit::release, true).what, Do::keep);
  EXPECT_EQ(look(kept, 1ms, Request::unanswered).what, Do::repeat);
  EXPECT_EQ(look(kept, 2ms, Request::over).what, Do::settle);
  EXPECT_EQ(kept.step({.by = By::was_lost, .gone = true, .lease_stands = true}).what, Do::end);
  EXPECT_EQ(kept.outcome(), Released::was_lost) << "nothing but a loss ends a name that is kept";
  // A run: another run may have recorded something since.
  EXPECT_EQ(outcome_of(By::was_lost, 2, true, {.concludes = true}), Released::unknown);
  EXPECT_EQ(outcome_of(By::was_lost, 2, true, {.concludes = true, .written = true}),
            Released::was_lost);
}

TEST(ReleaseCourseTest, AnAnswerThatCameBeforeTheRepetitionIsOfTheFirstRequest) {
  ReleaseCourse course = sent();
  EXPECT_EQ(look(course, half).what, Do::repeat);
  EXPECT_EQ(look(course, half, Request::over).what, Do::settle) << "no second one was sent";
  EXPECT_EQ(course.step({.by = By::was_lost, .gone = true, .lease_stands = true}).what, Do::end);
  EXPECT_EQ(course.outcome(), Released::was_lost);
}

TEST(ReleaseCourseTest, AConfirmationIsNeverLeftToTheClient) {
  ReleaseCourse course({.concludes = true, .written = true, .lease = 30s});
  ASSERT_EQ(leave(course, Exit::was_lost).what, Do::confirm);
  EXPECT_EQ(look(course, 0s, Request::over).what, Do::settle) << "out of memory";
  EXPECT_EQ(course.step({.by = By::nothing, .gone = false}).what, Do::end);
  EXPECT_EQ(course.outcome(), Released::unknown);
}

TEST(ReleaseCourseTest, AnOutcomeThatTheRunnerHasWrittenIsConfirmedOnce) {
  for (const Exit exit : {Exit::not_owner, Exit::was_lost}) {
    for (const By by : {By::released, By::was_lost, By::nothing}) {
      ReleaseCourse course({.concludes = true, .written = true, .lease = 30s});
      ASSERT_EQ(leave(course, exit).what, Do::confirm);
      EXPECT_EQ(look(course, 0s).until, start + 2 * half);
      EXPECT_EQ(look(course, 2 * half).what, Do::settle);
      EXPECT_EQ(course.step({.by = by, .gone = true}).what, Do::end);
      const Released expected = by == By::released   ? Released::released
                                : by == By::was_lost ? Released::was_lost
                                                     : Released::unknown;
      EXPECT_EQ(course.outcome(), expected);
    }
  }
}

}  // namespace
}  // namespace mortise::core
