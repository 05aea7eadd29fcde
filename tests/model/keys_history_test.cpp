// SPDX-License-Identifier: MIT
// Goal: a key succeeds at most once, all who are told of it are told the same, and a runner that
// lost it records nothing, on every backend that has keys. Method: processes under random faults
// that the backend promises to stand, which run keys in every way; the record of what they said and
// were told is checked (keys_checker.hpp), and that of their runs as one of holds (checker.hpp).
// That the same run finds faults where there are any is shown by keys_broken_test.cpp.
#include "model/keys_history_suite.hpp"
#include "model/seed.hpp"

#include <iostream>
#include <memory>

namespace mortise::model {

namespace {

using namespace std::chrono_literals;
using contract::Hook;
using contract::Quality;

}  // namespace

void KeyHistories::expect_good_keys(const Workload& workload, const Adversity& adversity,
                                    StoryTime& time, std::chrono::milliseconds length) {
  const KeyChronicle chronicle =
      play_keys(ground(), workload, adversity, time, test_seed(), length);
  std::cout << chronicle.text() << '\n';
  EXPECT_TRUE(chronicle.holds.report.ok()) << chronicle.holds.report.text();
  EXPECT_TRUE(chronicle.keys.ok()) << chronicle.keys.text();
  EXPECT_EQ(chronicle.holds.cast_trouble, "");
  EXPECT_EQ(chronicle.surprises, 0U);
  EXPECT_EQ(chronicle.healed, chronicle.holds.to_be_healed);
  EXPECT_TRUE(adversity.robbed || chronicle.lost_early == 0) << chronicle.lost_early;
  EXPECT_GE(chronicle.keys.runs, ground().fewest_grants(length) / 4)
      << "too few runs to prove anything";
  EXPECT_GT(chronicle.keys.successes, 0U);
  EXPECT_GT(chronicle.keys.told, 0U);
  EXPECT_GT(chronicle.holds.crashes + chronicle.holds.troubles, 0U);
  if (adversity.pauses && chronicle.has_processes) {
    EXPECT_TRUE(chronicle.holds.crashes > 0 || !adversity.crashes);
    EXPECT_GT(chronicle.holds.pauses, 0U);
  }
}

void KeyHistories::expect_good_keys_where_runs_are_taken_away(std::chrono::milliseconds length) {
  Workload robbed = workload();
  robbed.passes_on = false;
  robbed.tells_of_losses = false;
  robbed.hold = 20ms;
  StoryTime time;
  // A killed runner is not told that its run was taken away, nor is one whose conclusion is in
  // doubt: to the record of holds they had the key until their lease was over.
  expect_good_keys(robbed, {.crashes = false, .messages = false, .robbed = true}, time, length);
}

void KeyHistories::expect_good_keys_in_time_that_flies(std::chrono::milliseconds length) {
  StoryTime time(std::make_shared<ManualClock>());
  Workload hurried = workload();
  hurried.oversleeps = 0.1;
  expect_good_keys(hurried, {}, time, length);
}

// Promise: O1
MORTISE_TEST(KeyHistories, SucceedOnceAndTellAllTheSame, Quality::once) {
  StoryTime time;
  expect_good_keys(workload(), {}, time, ground().short_run);
}

// Promise: O2
MORTISE_TEST(KeyHistories, RecordNothingOfARunThatWasTakenAway, Quality::once, Quality::leases,
             Hook::take_key_away) {
  expect_good_keys_where_runs_are_taken_away(ground().short_run);
}

MORTISE_TEST(KeyHistories, SucceedOnceInTimeThatFlies, Quality::once, Hook::hand_clock) {
  expect_good_keys_in_time_that_flies(1500ms);
}

MORTISE_TEST(LongKeyHistories, SucceedOnceAndTellAllTheSame, Quality::once) {
  StoryTime time;
  expect_good_keys(workload(), {}, time, length_of_long_runs());
}

MORTISE_TEST(LongKeyHistories, RecordNothingOfARunThatWasTakenAway, Quality::once, Quality::leases,
             Hook::take_key_away) {
  expect_good_keys_where_runs_are_taken_away(length_of_long_runs());
}

MORTISE_TEST(LongKeyHistories, SucceedOnceInTimeThatFlies, Quality::once, Hook::hand_clock) {
  expect_good_keys_in_time_that_flies(length_of_long_runs());
}

}  // namespace mortise::model
