// SPDX-License-Identifier: MIT
// Goal: no two owners ever hold a name at once, tokens grow, the protected store never takes an
// older one after a newer one, and everybody works again when the faults are over, on every
// backend. Method: processes under random faults that the backend promises to stand, whose recorded
// history is checked exactly. That the same run finds faults where there are any is shown by
// broken_history_test.cpp.
#include "model/history_suite.hpp"
#include "model/seed.hpp"
#include "support/needs.hpp"

#include <iostream>
#include <memory>
#include <string>

namespace mortise::model {

namespace {

using namespace std::chrono_literals;
using contract::Hook;

Workload that_forgives_forgetting(Workload workload) {
  workload.passes_on = false;
  workload.tells_of_losses = false;
  workload.believes_repeated_releases = false;
  return workload;
}

}  // namespace

void Histories::SetUp() {
  if (ground().under_test.missing) MORTISE_NEEDS(ground().under_test.missing());
}

Workload Histories::workload() const {
  Workload workload;
  workload.lock.lease = ground().under_test.short_lease;
  workload.oversleeps = ground().oversleeps;
  workload.long_holds = ground().long_holds;
  return workload;
}

void Histories::expect_good(const Workload& workload, const Adversity& adversity, StoryTime& time,
                            std::chrono::milliseconds length) {
  Stage stage(ground().under_test, workload, time, test_seed(), length);
  const std::uint64_t enough = ground().fewest_grants(length);
  const Chronicle chronicle = play(stage, ground(), adversity, length, enough);
  std::cout << chronicle.figures << '\n';
  EXPECT_TRUE(chronicle.report.ok()) << chronicle.report.text();
  EXPECT_EQ(first_stale(chronicle.writes), chronicle.writes.size());
  EXPECT_EQ(chronicle.cast_trouble, "");
  EXPECT_EQ(stage.tally->surprises.load(), 0U);
  EXPECT_EQ(stage.tally->healed.load(), chronicle.to_be_healed);
  if (!adversity.forgetting) {
    EXPECT_EQ(stage.tally->lost_early.load(), 0U);
    EXPECT_EQ(stage.tally->refused_while_held.load(), 0U);
  }
  EXPECT_GE(chronicle.report.counts.granted, enough) << "too few grants to prove anything";
  EXPECT_TRUE(workload.permits != 0 || !chronicle.writes.empty());
  EXPECT_GT(chronicle.crashes + chronicle.troubles, 0U);
  if (adversity.pauses && stage.has(Hook::processes)) {
    EXPECT_GT(chronicle.crashes, 0U);
    EXPECT_GT(chronicle.pauses, 0U);
  }
  EXPECT_LE(stage.history.unfinished(), chronicle.crashes * workload.threads);
}

MORTISE_TEST(Histories, KeepExclusionAndTheOrderOfTokensUnderFaults) {
  StoryTime time;
  expect_good(workload(), {}, time, ground().short_run);
}

MORTISE_TEST(Histories, KeepWhatTheyWereNotToldTheyLost) {
  const Workload forgetful = that_forgives_forgetting(workload());
  StoryTime time;
  expect_good(forgetful, {.pauses = false, .messages = false, .forgetting = true}, time, 1200ms);
}

// Promise: S1
MORTISE_TEST(Histories, KeepThemInTimeThatFlies, Hook::hand_clock) {
  StoryTime time(std::make_shared<ManualClock>());
  Workload hurried = workload();
  hurried.oversleeps = 0.1;
  expect_good(hurried, {}, time, 1500ms);
}

MORTISE_TEST(LongHistories, KeepExclusionAndTheOrderOfTokensUnderFaults) {
  StoryTime time;
  expect_good(workload(), {}, time, length_of_long_runs());
}

MORTISE_TEST(LongHistories, KeepWhatTheyWereNotToldTheyLost) {
  const Workload forgetful = that_forgives_forgetting(workload());
  StoryTime time;
  expect_good(forgetful, {.pauses = false, .messages = false, .forgetting = true}, time,
              length_of_long_runs());
}

MORTISE_TEST(LongHistories, KeepThemInTimeThatFlies, Hook::hand_clock) {
  StoryTime time(std::make_shared<ManualClock>());
  Workload hurried = workload();
  hurried.oversleeps = 0.1;
  expect_good(hurried, {}, time, length_of_long_runs());
}

TEST(HistoryGrounds, LeaveNoHistoryOut) {
  for (const auto& one : test::Grounds<HistoryBackend>::here().cases()) {
    EXPECT_GT(one.times, 0) << one.name << " needs what no ground has: it is never run";
  }
}

}  // namespace mortise::model
