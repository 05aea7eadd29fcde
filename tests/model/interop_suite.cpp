// SPDX-License-Identifier: MIT
#include "model/interop_suite.hpp"

#include "model/history_suite.hpp"
#include "model/seed.hpp"

#include <gtest/gtest.h>

#include <iostream>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;

Workload workload_of(const HistoryBackend& backend) {
  Workload workload;
  workload.names = 2;
  workload.lock.lease = backend.under_test.short_lease;
  workload.long_holds = backend.long_holds;
  return workload;
}

InteropChronicle played(Stage& stage, const Neighbours& neighbours,
                        std::chrono::milliseconds length) {
  InteropChronicle chronicle = play_beside(stage, neighbours, length);
  std::cout << chronicle.figures << '\n';
  return chronicle;
}

}  // namespace

void expect_neighbours_apart(const HistoryBackend& backend, const Neighbours& neighbours) {
  const std::chrono::milliseconds length = length_of_long_runs();
  StoryTime time;
  Stage stage(backend.under_test, workload_of(backend), time, test_seed(), length);
  const InteropChronicle chronicle = played(stage, neighbours, length);
  EXPECT_TRUE(chronicle.report.ok()) << chronicle.report.text();
  EXPECT_EQ(chronicle.cast_trouble, "");
  EXPECT_EQ(chronicle.guests_healed, neighbours.count);
  EXPECT_EQ(stage.tally->surprises.load(), 0U);
  EXPECT_EQ(stage.tally->lost_early.load(), 0U);
  EXPECT_EQ(stage.tally->refused_while_held.load(), 0U);
  // Neither side is starved, and faults were many enough to prove anything.
  const auto seconds = static_cast<std::uint64_t>(length.count()) / 1000;
  EXPECT_GE(chronicle.guests.grants, seconds);
  EXPECT_GE(chronicle.report.ours.counts.granted, seconds);
  if (seconds >= 20) {
    EXPECT_EQ(chronicle.faults.size(), 5U);
  }
}

void expect_neighbours_seen_together(const HistoryBackend& backend, const Neighbours& neighbours) {
  constexpr std::chrono::milliseconds length = 5s;
  StoryTime time;
  Stage stage(backend.under_test, workload_of(backend), time, test_seed(), length);
  const InteropChronicle chronicle = played(stage, neighbours, length);
  EXPECT_TRUE(chronicle.report.ours.ok()) << chronicle.report.text();
  EXPECT_GT(chronicle.report.all.faults, 0U) << "they were apart, or nobody has looked";
}

}  // namespace mortise::model
