// SPDX-License-Identifier: MIT
// Goal: an observer learns soon why the renewals of a hold fail, and not ten times a second.
// Method: the test owns the time.
#include "runtime/hold/renewal_trouble.hpp"

#include <gtest/gtest.h>

namespace mortise::runtime {
namespace {

using namespace std::chrono_literals;

constexpr Instant first_moment{1h};
const Failure away(Errc::unavailable, "away");
const Failure refused(Errc::denied, "refused");

TEST(RenewalTrouble, IsToldOnceInAPause) {
  RenewalTrouble trouble;
  EXPECT_TRUE(trouble.note(away, first_moment));
  EXPECT_FALSE(trouble.note(away, first_moment + 100ms));
  EXPECT_FALSE(trouble.note(away, first_moment + 1s - 1ns));
  EXPECT_TRUE(trouble.note(away, first_moment + 1s));
  EXPECT_FALSE(trouble.note(away, first_moment + 1900ms));
}

TEST(RenewalTrouble, OfAnotherKindIsToldAtOnce) {
  RenewalTrouble trouble;
  EXPECT_TRUE(trouble.note(away, first_moment));
  EXPECT_TRUE(trouble.note(refused, first_moment + 100ms));
  EXPECT_FALSE(trouble.note(refused, first_moment + 200ms));
  EXPECT_EQ(trouble.why.text, "refused");
}

TEST(RenewalTrouble, ThatAlternatesIsBoundedInTime) {
  RenewalTrouble trouble;
  int told = 0;
  for (int i = 0; i < 100; ++i) {
    const Failure& why = i % 2 == 0 ? away : refused;
    if (trouble.note(why, first_moment + i * 100ms)) ++told;
    EXPECT_EQ(trouble.why.text, why.text) << "a loss tells the last one";
  }
  EXPECT_LE(told, 20);
  EXPECT_GE(told, 10);
}

}  // namespace
}  // namespace mortise::runtime
