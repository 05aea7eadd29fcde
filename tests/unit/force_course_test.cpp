// SPDX-License-Identifier: MIT
// Goal: a forced release ends the holds that it found first and no later one, and reports what it
// knows. Method: the machine without a store, step by step; the time is an argument.
#include "core/force_course.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace mortise::core {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Do = ForceCourse::Do;
using Labels = std::vector<std::string>;

constexpr Instant until{1h};
const Failure refusal(Errc::denied, "no permission");
const Failure no_answer(Errc::in_doubt, "the store");

FoundHold hold(std::uint64_t number, std::uint64_t passes = 0) {
  return {.hold = {.name = "name", .number = number},
          .holder = {.label = std::to_string(number),
                     .token = Token(token_of(number).value() + passes)}};
}

/// Plays the store: which holds it has, and what it answers about each.
struct Store {
  std::vector<FoundHold> holds{};
  ForceCourse::Action find(ForceCourse& course) const { return course.step({.holds = holds}); }
};

ForceCourse::Action sent(ForceCourse& course) {
  return course.step({.sent = course.holds().size()});
}
ForceCourse::Action ended(ForceCourse& course, Released outcome, Instant now = {}) {
  return course.step(ForceCourse::Ended{.outcome = outcome, .now = now});
}
ForceCourse::Action failed(ForceCourse& course, const Failure& why) {
  return course.step(ForceCourse::Ended{.failure = why});
}

Labels to_end(const ForceCourse& course) {
  Labels labels;
  for (const FoundHold& each : course.holds()) labels.push_back(each.holder.label);
  return labels;
}
Labels told(const ForceCourse& course) {
  Labels labels;
  for (const Holder& each : course.ended()) labels.push_back(each.label);
  return labels;
}

TEST(ForceCourseTest, AFreeNameEndsTheCallWithNothing) {
  ForceCourse course({}, until);
  EXPECT_EQ(ForceCourse::start().what, Do::find);
  EXPECT_EQ(Store{}.find(course).what, Do::report);
  EXPECT_THAT(told(course), IsEmpty());
  EXPECT_FALSE(course.failure());
}

TEST(ForceCourseTest, WithoutATokenEveryHoldIsEndedAndReported) {
  ForceCourse course({}, until);
  EXPECT_EQ((Store{{hold(3), hold(5), hold(4)}}.find(course).what), Do::end);
  EXPECT_THAT(to_end(course), ElementsAre("3", "5", "4"));
  ForceCourse::Action action = sent(course);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(action.what, Do::await);
    EXPECT_EQ(action.which, i);
    action = ended(course, Released::released);
  }
  EXPECT_EQ(action.what, Do::report);
  EXPECT_THAT(told(course), ElementsAre("3", "5", "4"));
  EXPECT_FALSE(course.failure());
}

// The store knows a grant, and the token of a holder counts the threads that it was passed to.
TEST(ForceCourseTest, ATokenMeansTheHoldOfItsGrant) {
  const struct {
    Token of;
    Labels expected;
  } table[] = {{token_of(4), {"4"}},
               {Token(token_of(4).value() + 7), {"4"}},
               {token_of(2), {}},
               {Token(1), {}}};
  for (const auto& each : table) {
    ForceCourse course(each.of, until);
    const Do next = Store{{hold(3), hold(4, 2), hold(5)}}.find(course).what;
    EXPECT_EQ(next, each.expected.empty() ? Do::report : Do::end) << to_string(each.of);
    EXPECT_EQ(to_end(course), each.expected) << to_string(each.of);
  }
}

TEST(ForceCourseTest, AHoldWithoutATokenIsEndedOnlyWithoutOne) {
  ForceCourse every({}, until);
  EXPECT_EQ((Store{{hold(0)}}.find(every).what), Do::end);
  ForceCourse one(token_of(4), until);
  EXPECT_EQ((Store{{hold(0)}}.find(one).what), Do::report);
}

TEST(ForceCourseTest, WhatWasOverBeforeIsNotReported) {
  const struct {
    Released outcome;
    Labels expected;
  } table[] = {{Released::released, {"3"}},
               {Released::unknown, {"3"}},  // a copy of the request may have ended it
               {Released::was_lost, {}}};
  for (const auto& each : table) {
    ForceCourse course({}, until);
    Store{{hold(3)}}.find(course);
    sent(course);
    EXPECT_EQ(ended(course, each.outcome).what, Do::report);
    EXPECT_EQ(told(course), each.expected) << to_string(each.outcome);
    EXPECT_FALSE(course.failure());
  }
}

TEST(ForceCourseTest, AQuestionWithoutAnAnswerHasEndedNothing) {
  ForceCourse course({}, until);
  EXPECT_EQ(course.step(ForceCourse::Found{.failure = {Errc::unavailable, "down"}}).what,
            Do::report);
  EXPECT_EQ(course.failure().code, Errc::unavailable);
}

TEST(ForceCourseTest, AReleaseWithoutAnAnswerIsInDoubt) {
  ForceCourse course({}, until);
  Store{{hold(3)}}.find(course);
  sent(course);
  EXPECT_EQ(failed(course, no_answer).what, Do::report);
  EXPECT_EQ(course.failure().code, Errc::in_doubt);
}

TEST(ForceCourseTest, ARefusalIsReportedAsItIsUnlessSomethingWasEnded) {
  ForceCourse none({}, until);
  Store{{hold(3), hold(4)}}.find(none);
  sent(none);
  EXPECT_EQ(failed(none, refusal).what, Do::await) << "the second answer is on its way";
  EXPECT_EQ(failed(none, no_answer).what, Do::report);
  EXPECT_EQ(none.failure().code, Errc::denied) << "the first reason";
  ForceCourse some({}, until);
  Store{{hold(3), hold(4)}}.find(some);
  sent(some);
  failed(some, refusal);
  EXPECT_EQ(ended(some, Released::released).what, Do::report);
  EXPECT_EQ(some.failure().code, Errc::in_doubt);
  EXPECT_EQ(some.failure().text, refusal.text);
  EXPECT_THAT(told(some), ElementsAre("4"));
}

TEST(ForceCourseTest, WhatCouldNotBeSentIsNotAwaited) {
  ForceCourse none({}, until);
  Store{{hold(3), hold(4)}}.find(none);
  EXPECT_EQ(none.step({.sent = 0, .failure = refusal}).what, Do::report);
  EXPECT_EQ(none.failure().code, Errc::denied);
  ForceCourse some({}, until);
  Store{{hold(3), hold(4)}}.find(some);
  EXPECT_EQ(some.step({.sent = 1, .failure = refusal}).what, Do::await);
  EXPECT_EQ(ended(some, Released::released).what, Do::report);
  EXPECT_EQ(some.failure().code, Errc::in_doubt);
}

// The store answers so many at once. Those who came since then keep their holds.
TEST(ForceCourseTest, ManyHoldsAreEndedInRoundsWithoutThoseThatCameSince) {
  ForceCourse course({}, until);
  Store store;
  for (std::uint64_t number = 1; number <= course.limit(); ++number) {
    store.holds.push_back(hold(number + 1));
  }
  EXPECT_EQ(store.find(course).what, Do::end);
  const auto end_all = [&](Instant now) {
    ForceCourse::Action action = sent(course);
    while (action.what == Do::await) action = ended(course, Released::released, now);
    return action.what;
  };
  EXPECT_EQ(end_all(until - 1ns), Do::find);
  const std::uint64_t newest = course.limit() + 1;
  EXPECT_EQ((Store{{hold(1), hold(newest + 1)}}.find(course).what), Do::end);
  EXPECT_THAT(to_end(course), ElementsAre("1"));
  EXPECT_EQ(end_all(until - 1ns), Do::report);
  EXPECT_EQ(course.ended().size(), course.limit() + 1);
  EXPECT_FALSE(course.failure());
}

TEST(ForceCourseTest, RoundsEndWithTheTime) {
  ForceCourse course({}, until);
  Store store;
  for (std::uint64_t number = 1; number <= course.limit(); ++number) {
    store.holds.push_back(hold(number));
  }
  store.find(course);
  ForceCourse::Action action = sent(course);
  while (action.what == Do::await) action = ended(course, Released::released, until);
  EXPECT_EQ(action.what, Do::report);
  EXPECT_EQ(course.failure().code, Errc::in_doubt);
}

}  // namespace
}  // namespace mortise::core
