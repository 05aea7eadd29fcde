// SPDX-License-Identifier: MIT
// Goal: for each thing that a key can be remembered as, and each thing that can be asked of it, the
// table of `Once`.
#include "core/verdict.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace mortise::core {
namespace {

Memory asks(Repeat repeat, const char* fingerprint = "a") {
  return {.fingerprint = fingerprint, .repeat = repeat, .keep = std::chrono::hours(1)};
}

Record key(KeyState state, bool held = false, const char* fingerprint = "a") {
  return {.state = state,
          .bytes = "bytes",
          .run = 1,
          .number = 7,
          .fingerprint = fingerprint,
          .held = held};
}

const std::vector<Repeat> every_repeat{Repeat::after_failure, Repeat::never, Repeat::always};

TEST(VerdictTest, WhatWasNeverBegunIsRun) {
  for (const Repeat repeat : every_repeat) {
    EXPECT_EQ(judge(asks(repeat), Record{}), Verdict::run);
    EXPECT_EQ(judge(asks(repeat, ""), Record{}), Verdict::run);
  }
}

TEST(VerdictTest, APendingKeyIsWaitedForAsLongAsItIsHeld) {
  for (const Repeat repeat : every_repeat) {
    EXPECT_EQ(judge(asks(repeat), key(KeyState::pending, true)), Verdict::wait);
    EXPECT_EQ(judge(asks(repeat), key(KeyState::pending)), Verdict::run);
  }
}

TEST(VerdictTest, SuccessIsRepeatedByAlwaysOnly) {
  EXPECT_EQ(judge(asks(Repeat::after_failure), key(KeyState::succeeded)), Verdict::replay);
  EXPECT_EQ(judge(asks(Repeat::never), key(KeyState::succeeded)), Verdict::replay);
  EXPECT_EQ(judge(asks(Repeat::always), key(KeyState::succeeded)), Verdict::run);
}

TEST(VerdictTest, FailureIsRepeatedUnlessItIsToStand) {
  EXPECT_EQ(judge(asks(Repeat::after_failure), key(KeyState::failed)), Verdict::run);
  EXPECT_EQ(judge(asks(Repeat::never), key(KeyState::failed)), Verdict::replay);
  EXPECT_EQ(judge(asks(Repeat::always), key(KeyState::failed)), Verdict::run);
}

TEST(VerdictTest, AnotherRequestIsToldNothingWhateverTheKeyStandsAt) {
  for (const Repeat repeat : every_repeat) {
    for (const KeyState state : {KeyState::pending, KeyState::succeeded, KeyState::failed}) {
      for (const bool held : {false, true}) {
        EXPECT_EQ(judge(asks(repeat, "b"), key(state, held)), Verdict::mismatch);
        EXPECT_EQ(judge(asks(repeat, ""), key(state, held)), Verdict::mismatch);
        EXPECT_EQ(judge(asks(repeat), key(state, held, "")), Verdict::mismatch);
        EXPECT_NE(judge(asks(repeat, ""), key(state, held, "")), Verdict::mismatch);
      }
    }
  }
}

// While it is held, whatever it stood at before does not matter: one at a time.
TEST(VerdictTest, WhoeverRepeatsWaitsForTheRunnerToo) {
  for (const KeyState state : {KeyState::pending, KeyState::succeeded, KeyState::failed}) {
    EXPECT_EQ(judge(asks(Repeat::always), key(state, true)), Verdict::wait);
  }
}

}  // namespace
}  // namespace mortise::core
