// SPDX-License-Identifier: MIT
// Goal: the quorum keeps its promises whatever happens to its clients, to its servers and on the
// ways between them, a majority of them included; and these histories would show it if it did not.
// Method: the suite of histories on five servers; and the same run with a quorum that is broken on
// purpose, two of five, which must be caught.
#include "model/history_suite.hpp"
#include "model/redlock_history_store.hpp"
#include "model/seed.hpp"

#include <chrono>
#include <iostream>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds redlock_slice{700};
constexpr int most_redlock_slices = 15;

TEST(BrokenRedlock, AQuorumOfTwoOfFiveIsCaught) {
  MORTISE_NEEDS_REDIS_SERVER();
  HistoryBackend backend = redlock_processes("two_of_five", RedlockQuorum::two_of_five);
  Workload workload;
  workload.names = 1;
  workload.lock.lease = backend.under_test.short_lease;
  workload.passes_on = false;
  workload.tells_of_losses = false;
  Dice dice(test_seed());
  std::uint64_t holds = 0;
  bool caught = false;
  for (int number = 1; number <= most_redlock_slices && !caught; ++number) {
    StoryTime time;
    Stage stage(backend.under_test, workload, time, dice.number(), redlock_slice);
    const Chronicle chronicle = play(
        stage, backend, {.pauses = false, .messages = false, .disturbances = false}, redlock_slice);
    holds += chronicle.report.counts.granted;
    caught = chronicle.report.has(Fault::overlap) || chronicle.report.has(Fault::token_repeated);
    if (caught) std::cout << "caught in slice " << number << " after " << holds << " holds\n";
  }
  EXPECT_TRUE(caught) << "not in " << holds << " holds";
}

}  // namespace

MORTISE_HISTORIES(Redlock, redlock_processes("redlock"));

}  // namespace mortise::model
