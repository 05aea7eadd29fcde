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
const ForceCourse::Ended::Answer refused{{Errc::denied, "no permission"}};
const ForceCourse::Ended::Answer unanswered{{Errc::in_doubt, "the store"}};
const ForceCourse::Ended::Answer released{{}, Released::released};

FoundHold hold(std::uint64_t number, std::uint64_t passes = 0) {
  return {.hold = {.name = "name", .number = number},
          .holder = {.label = std::to_string(number),
                     .token = Token(token_of(number).value() + passes)}};
}

Do find(ForceCourse& course, std::vector<FoundHold> holds) {
  return course.step(ForceCourse::Found{.holds = std::move(holds)});
}
Do end(ForceCourse& course, std::vector<ForceCourse::Ended::Answer> answers, Instant now = {}) {
  return course.step(ForceCourse::Ended{std::move(answers), now});
}
Do end_all(ForceCourse& course, Instant now = {}) {
  return end(course, {course.holds().size(), released}, now);
}

Labels to_end(const ForceCourse& course) {
  Labels labels;
  for (const FoundHold& each : course.holds()) labels.push_back(each.holder.label);
  return labels;
}
Labels reported(const ForceCourse& course) {
  Labels labels;
  for (const Holder& each : course.ended()) labels.push_back(each.label);
  return labels;
}

TEST(ForceCourseTest, AFreeNameEndsTheCallWithNothing) {
  ForceCourse course({}, until);
  EXPECT_EQ(ForceCourse::start(), Do::find);
  EXPECT_EQ(find(course, {}), Do::report);
  EXPECT_THAT(reported(course), IsEmpty());
  EXPECT_FALSE(course.failure());
}

TEST(ForceCourseTest, WithoutATokenEveryHoldIsEndedAndReported) {
  ForceCourse course({}, until);
  EXPECT_EQ(find(course, {hold(3), hold(5), hold(4)}), Do::end);
  EXPECT_THAT(to_end(course), ElementsAre("3", "5", "4"));
  EXPECT_EQ(end_all(course), Do::report);
  EXPECT_THAT(reported(course), ElementsAre("3", "5", "4"));
  EXPECT_FALSE(course.failure());
}

// The store knows a grant, and the token of a holder counts the threads that it was passed to. A
// hold of another program has no token.
TEST(ForceCourseTest, ATokenMeansTheHoldOfItsGrant) {
  const struct {
    Token of;
    Labels expected;
  } table[] = {{{}, {"3", "4", "5", "0"}},
               {token_of(4), {"4"}},
               {Token(token_of(4).value() + 7), {"4"}},
               {token_of(2), {}}};
  for (const auto& each : table) {
    ForceCourse course(each.of, until);
    const Do next = find(course, {hold(3), hold(4, 2), hold(5), hold(0)});
    EXPECT_EQ(next, each.expected.empty() ? Do::report : Do::end) << to_string(each.of);
    EXPECT_EQ(to_end(course), each.expected) << to_string(each.of);
  }
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
    find(course, {hold(3)});
    EXPECT_EQ(end(course, {{{}, each.outcome}}), Do::report);
    EXPECT_EQ(reported(course), each.expected) << to_string(each.outcome);
    EXPECT_FALSE(course.failure());
  }
}

TEST(ForceCourseTest, AFailureSaysWhetherAHoldMayHaveEnded) {
  const struct {
    std::vector<ForceCourse::Ended::Answer> answers;
    Errc expected;
    Labels reported;
  } table[] = {
      {{refused, refused}, Errc::denied, {}},       {{refused, unanswered}, Errc::in_doubt, {}},
      {{unanswered, refused}, Errc::in_doubt, {}},  {{unanswered, unanswered}, Errc::in_doubt, {}},
      {{refused, released}, Errc::in_doubt, {"4"}}, {{released, refused}, Errc::in_doubt, {"3"}}};
  for (const auto& each : table) {
    ForceCourse course({}, until);
    find(course, {hold(3), hold(4)});
    EXPECT_EQ(end(course, each.answers), Do::report);
    EXPECT_EQ(course.failure().code, each.expected);
    EXPECT_EQ(reported(course), each.reported);
  }
  ForceCourse course({}, until);
  EXPECT_EQ(course.step(ForceCourse::Found{.failure = {Errc::unavailable, "down"}}), Do::report);
  EXPECT_EQ(course.failure().code, Errc::unavailable) << "the question ends nothing";
}

// The store answers so many at once. Those who came since then keep their holds.
TEST(ForceCourseTest, ManyHoldsAreEndedInRoundsWithoutThoseThatCameSince) {
  const auto many = [](const ForceCourse& course) {
    std::vector<FoundHold> holds;
    while (holds.size() < course.limit()) holds.push_back(hold(holds.size() + 2));
    return holds;
  };
  ForceCourse course({}, until);
  EXPECT_EQ(find(course, many(course)), Do::end);
  EXPECT_EQ(end_all(course, until - 1ns), Do::find);
  const std::uint64_t newest = course.limit() + 1;
  EXPECT_EQ(find(course, {hold(1), hold(newest + 1)}), Do::end);
  EXPECT_THAT(to_end(course), ElementsAre("1"));
  EXPECT_EQ(end_all(course, until - 1ns), Do::report);
  EXPECT_EQ(course.ended().size(), course.limit() + 1);
  ForceCourse late({}, until);
  find(late, many(late));
  EXPECT_EQ(end_all(late, until), Do::report);
  EXPECT_EQ(late.failure().code, Errc::in_doubt);
}

// The first look was cut short. So a hold with a larger number may have been there, and may have
// come since.
TEST(ForceCourseTest, AHoldThatMayHaveBeenThereAtTheFirstLookIsInDoubt) {
  const struct {
    std::vector<FoundHold> second;
    bool in_doubt;
  } table[] = {{{}, false},
               {{hold(1)}, false},
               {{hold(1), hold(9'999)}, true},
               {{hold(9'998), hold(9'999)}, true}};
  for (const auto& each : table) {
    ForceCourse course({}, until);
    std::vector<FoundHold> first;
    while (first.size() < course.limit()) first.push_back(hold(first.size() + 2));
    find(course, first);
    ASSERT_EQ(end_all(course), Do::find);
    if (find(course, each.second) == Do::end) {
      EXPECT_EQ(end_all(course), Do::report);
    }
    EXPECT_EQ(course.failure().code == Errc::in_doubt, each.in_doubt) << each.second.size();
    EXPECT_GE(course.ended().size(), first.size()) << "those are known to have ended";
  }
}

// A server may send anything, and an author of a backend may forget one.
TEST(ForceCourseTest, AHoldMayHaveNoMark) {
  QueueLook look("name", 10, Mode::exclusive, Token());
  look.answered({.holders = {HolderEntry{.token = token_of(3)}, HolderEntry{.token = token_of(4)}}},
                {{.mark = "of the first"}});
  const std::vector<FoundHold> holds = look.holds();
  ASSERT_EQ(holds.size(), 2U);
  EXPECT_EQ(holds[0].mark, "of the first");
  EXPECT_EQ(holds[1].mark, "");
  EXPECT_EQ(holds[1].hold.number, 4U);
}

}  // namespace
}  // namespace mortise::core
