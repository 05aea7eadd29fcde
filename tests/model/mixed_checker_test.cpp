// SPDX-License-Identifier: MIT
// Goal: holds without tokens are judged beside ours: two at once are found, whoever took them; what
// a process that stood still believed too long is not held against anybody; and our own tokens are
// looked at as ever. Method: histories written by hand.
#include "model/mixed_checker.hpp"

#include "model/script.hpp"

#include <gtest/gtest.h>

namespace mortise::model {
namespace {

constexpr Script::Client ours{0, 0};
constexpr Script::Client ours_too{1, 0};
constexpr Script::Client theirs{first_stranger, 0};
constexpr Script::Client theirs_too{first_stranger + 1, 0};

MixedReport judge_mixed(const Script& script) { return check_mixed(script.events()); }

TEST(MixedChecker, TakesTurnsForGood) {
  Script script;
  const auto first = script.acquire(ours, 0, 10, 100, 110, 1'000);
  script.release(first, 200, 210);
  const auto second = script.acquire(theirs, 0, 0, 100, 205);
  script.release(second, 300, 310);
  const auto third = script.acquire(ours_too, 0, 11, 190, 305, 1'000);
  script.release(third, 400, 410);
  const auto fourth = script.acquire(theirs_too, 0, 0, 400, 500);
  script.release(fourth, 600, 610);
  EXPECT_TRUE(judge_mixed(script).ok()) << judge_mixed(script).text();
  EXPECT_EQ(judge_mixed(script).all.counts.granted, 4U);
  EXPECT_EQ(judge_mixed(script).ours.counts.granted, 2U);
}

TEST(MixedChecker, FindsThemInsideOurs) {
  Script script;
  const auto mine = script.acquire(ours, 0, 10, 100, 110, 1'000);
  const auto other = script.acquire(theirs, 0, 0, 120, 130);
  script.release(other, 140, 150);
  script.release(mine, 200, 210);
  EXPECT_TRUE(judge_mixed(script).ours.ok());
  EXPECT_TRUE(judge_mixed(script).all.has(Fault::overlap)) << judge_mixed(script).text();
}

TEST(MixedChecker, FindsOursInsideTheirs) {
  Script script;
  const auto other = script.acquire(theirs, 0, 0, 100, 110);
  const auto mine = script.acquire(ours, 0, 10, 120, 130, 1'000);
  script.release(mine, 140, 150);
  script.release(other, 200, 210);
  EXPECT_FALSE(judge_mixed(script).all.ok());
}

TEST(MixedChecker, FindsTwoOfTheirs) {
  Script script;
  script.acquire(theirs, 0, 0, 100, 110);
  script.acquire(theirs_too, 0, 0, 150, 160);
  EXPECT_FALSE(judge_mixed(script).all.ok());
}

TEST(MixedChecker, TheirsEndWithTheirProcess) {
  Script script;
  script.acquire(theirs, 0, 0, 100, 110);
  script.death(theirs.process, 150, 155);
  script.acquire(ours, 0, 10, 120, 160, 1'000);
  EXPECT_TRUE(judge_mixed(script).ok()) << judge_mixed(script).text();
  script.acquire(theirs_too, 0, 0, 170, 180);
  EXPECT_FALSE(judge_mixed(script).ok());
}

TEST(MixedChecker, AStoppedHolderIsCertainUntilItsLeaseMayHaveEnded) {
  Script script;
  const auto stood = script.acquire(theirs, 0, 0, 100, 110);
  script.renewal(stood, 500, 300);  // told when it goes on: good until 300
  const auto mine = script.acquire(ours, 0, 10, 120, 310, 1'000);
  script.release(mine, 320, 330);
  script.release(stood, 510, 520, Outcome::was_lost);
  EXPECT_TRUE(judge_mixed(script).ok()) << judge_mixed(script).text();

  Script early;
  const auto still = early.acquire(theirs, 0, 0, 100, 110);
  early.renewal(still, 500, 300);
  early.acquire(ours, 0, 10, 120, 290, 1'000);
  EXPECT_FALSE(judge_mixed(early).all.ok()) << "ours came before that";
}

TEST(MixedChecker, LeavesOutWhatWasOverWhenItReturned) {
  Script script;
  const auto stood = script.acquire(theirs, 0, 0, 100, 500, 100);
  const auto mine = script.acquire(ours, 0, 10, 120, 130, 1'000);
  script.release(stood, 510, 520, Outcome::was_lost);
  script.release(mine, 600, 610);
  EXPECT_TRUE(judge_mixed(script).ok()) << judge_mixed(script).text();
  EXPECT_EQ(judge_mixed(script).left_out, 1U);
}

TEST(MixedChecker, LooksAtOurTokensAsEver) {
  Script script;
  const auto first = script.acquire(ours, 0, 10, 100, 110, 1'000);
  script.release(first, 200, 210);
  const auto between = script.acquire(theirs, 0, 0, 200, 220);
  script.release(between, 300, 310);
  script.acquire(ours_too, 0, 9, 300, 320, 1'000);
  EXPECT_TRUE(judge_mixed(script).all.ok());
  EXPECT_TRUE(judge_mixed(script).ours.has(Fault::token_backwards)) << judge_mixed(script).text();
}

}  // namespace
}  // namespace mortise::model
