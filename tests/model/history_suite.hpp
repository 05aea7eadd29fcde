// SPDX-License-Identifier: MIT
// The suite of histories, and how a backend joins it: write
//
//   MORTISE_HISTORIES(Memory, memory_backend());
//
// with a HistoryBackend in a file of its own. What its store cannot suffer it does not suffer; a
// run without enough grants proves nothing, and fails.
#pragma once

#include "model/lock_history.hpp"
#include "support/grounds.hpp"

#include <chrono>
#include <cstdint>

namespace mortise::model {

class Histories : public test::OnGround<HistoryBackend> {
 protected:
  void SetUp() override;
  // The workload for this backend, with leases as short as it can have them.
  [[nodiscard]] Workload workload() const;
  // Plays it, and expects what every run must keep.
  void expect_good(const Workload& workload, const Adversity& adversity, StoryTime& time,
                   std::chrono::milliseconds length);
};

// The same for longer: see `ctest -L long`. MORTISE_HISTORY_SECONDS is how long each run is.
class LongHistories : public Histories {};

}  // namespace mortise::model

// In namespace mortise::model.
#define MORTISE_HISTORIES_OF(prefix, suite, backend)   \
  [[maybe_unused]] const bool prefix##_has_histories = \
      ::mortise::test::add_ground<suite>(#prefix, backend)
#define MORTISE_HISTORIES(prefix, backend)             \
  [[maybe_unused]] const bool prefix##_has_histories = \
      ::mortise::test::add_ground<>(#prefix, backend)
