// SPDX-License-Identifier: MIT
// A history of keys: as play() of lock_history.hpp, by client processes that run keys.
#pragma once

#include "model/keys_checker.hpp"
#include "model/lock_history.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace mortise::model {

struct KeyChronicle {
  Chronicle holds;  // the runs, as holds
  KeyReport keys;
  std::uint64_t surprises = 0;
  std::uint64_t lost_early = 0;
  std::uint64_t healed = 0;  // threads that found all well in the end
  bool has_processes = false;

  [[nodiscard]] std::string text() const;
};

// Where holds may be taken away (Adversity::robbed), one of those that use the keys is robbed now
// and then: the store remembers what it did.
[[nodiscard]] KeyChronicle play_keys(HistoryBackend backend, Workload workload,
                                     const Adversity& adversity, StoryTime& time,
                                     std::uint64_t seed, std::chrono::milliseconds length);

}  // namespace mortise::model
