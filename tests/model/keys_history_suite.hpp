// SPDX-License-Identifier: MIT
// The suites of key histories, which a ground joins as those of history_suite.hpp.
#pragma once

#include "model/history_suite.hpp"
#include "model/keys_history.hpp"

#include <chrono>

namespace mortise::model {

class KeyHistories : public Histories {
 protected:
  void expect_good_keys(const Workload& workload, const Adversity& adversity, StoryTime& time,
                        std::chrono::milliseconds length);
  void expect_good_keys_where_runs_are_taken_away(std::chrono::milliseconds length);
  void expect_good_keys_in_time_that_flies(std::chrono::milliseconds length);
};

// The same for longer. A ground may have these alone, where its short ones would meet too little.
class LongKeyHistories : public KeyHistories {};

}  // namespace mortise::model
