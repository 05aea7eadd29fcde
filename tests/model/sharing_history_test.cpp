// SPDX-License-Identifier: MIT
// Goal: nobody reads beside a writer, no more hold a permit than there are, and the tokens of both
// are in order, on every backend that has them, whatever happens to clients, servers and the way
// between them. Method: that of lock_history_test.cpp, by clients that read and write, or take
// permits. That the same run finds faults where there are any is shown by broken_history_test.cpp.
#include "model/history_suite.hpp"

#include <chrono>
#include <memory>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;
using contract::Hook;
using contract::Quality;

class SharingHistories : public Histories {
 protected:
  [[nodiscard]] Workload readers_and_writers() const {
    Workload made = workload();
    made.readers = 0.7;
    made.names = 2;
    return made;
  }
  // More than there are permits want one, all the time.
  [[nodiscard]] Workload permits() const {
    Workload made = workload();
    made.permits = 2;
    made.names = 2;
    made.threads = 3;
    return made;
  }
  static Workload hurried(Workload made) {
    made.oversleeps = 0.1;
    return made;
  }
};

class LongSharingHistories : public SharingHistories {};

// Promise: N1, N2
MORTISE_TEST(SharingHistories, KeepReadersAndWritersApart, Quality::shared) {
  StoryTime time;
  expect_good(readers_and_writers(), {}, time, ground().short_run);
}

MORTISE_TEST(SharingHistories, KeepThemApartInTimeThatFlies, Quality::shared, Hook::hand_clock) {
  StoryTime time(std::make_shared<ManualClock>());
  expect_good(hurried(readers_and_writers()), {}, time, 1500ms);
}

// Promise: M1
MORTISE_TEST(SharingHistories, GiveNoMorePermitsThanThereAre, Quality::permits) {
  StoryTime time;
  expect_good(permits(), {}, time, ground().short_run);
}

MORTISE_TEST(SharingHistories, GiveNoMoreInTimeThatFlies, Quality::permits, Hook::hand_clock) {
  StoryTime time(std::make_shared<ManualClock>());
  expect_good(hurried(permits()), {}, time, 1500ms);
}

MORTISE_TEST(LongSharingHistories, KeepReadersAndWritersApart, Quality::shared) {
  StoryTime time;
  expect_good(readers_and_writers(), {}, time, length_of_long_runs());
}

MORTISE_TEST(LongSharingHistories, GiveNoMorePermitsThanThereAre, Quality::permits) {
  StoryTime time;
  expect_good(permits(), {}, time, length_of_long_runs());
}

MORTISE_TEST(LongSharingHistories, KeepThemApartInTimeThatFlies, Quality::shared,
             Hook::hand_clock) {
  StoryTime time(std::make_shared<ManualClock>());
  expect_good(hurried(readers_and_writers()), {}, time, length_of_long_runs());
}

}  // namespace
}  // namespace mortise::model
