// SPDX-License-Identifier: MIT
// Goal: a client asks a cluster for its slots soon after a change, and seldom if that settles
// nothing. Method: the moments alone, on a clock of the test's own.
#include "redis/topology/survey_pace.hpp"

#include <gtest/gtest.h>

namespace mortise::redis {
namespace {

using namespace std::chrono_literals;

constexpr Instant start{1h};

TEST(RedisSurveyPace, PausesGrowUntilASurveySettlesIt) {
  SurveyPace pace;
  EXPECT_EQ(pace.next(), never);
  EXPECT_TRUE(pace.want(start));
  ASSERT_TRUE(pace.take(start));
  Instant now = start;
  pace.begin(1, now);
  for (const auto pause : {100ms, 200ms, 400ms, 800ms, 800ms}) {
    pace.end(false, true, now);
    EXPECT_EQ(pace.next(), now + pause);
    now = pace.next();
    ASSERT_TRUE(pace.take(now));
    pace.begin(1, now);
  }
  pace.end(true, true, now);
  EXPECT_EQ(pace.next(), never);
  EXPECT_TRUE(pace.want(now));
  EXPECT_EQ(pace.next(), now + 50ms) << "not at once after the last one";
}

TEST(RedisSurveyPace, OneOfSeveralServersIsEnough) {
  SurveyPace pace;
  static_cast<void>(pace.want(start));
  ASSERT_TRUE(pace.take(start));
  pace.begin(2, start);
  EXPECT_FALSE(pace.want(start)) << "it is under way";
  EXPECT_FALSE(pace.take(start + 1s));
  pace.end(true, false, start);
  pace.end(false, false, start);
  EXPECT_EQ(pace.next(), start + 50ms) << "it was wanted in the meantime";
}

TEST(RedisSurveyPace, AnAnswerIsAsOldAsTheQuestion) {
  SurveyPace pace;
  EXPECT_FALSE(pace.is_told(Instant::min()));
  pace.begin(1, start);
  pace.told();
  EXPECT_TRUE(pace.is_told(start));
  EXPECT_FALSE(pace.is_told(start + 1ns));
}

}  // namespace
}  // namespace mortise::redis
