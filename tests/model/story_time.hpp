// SPDX-License-Identifier: MIT
// The time of a run: that of the machine, or one that the test makes pass, which brings a hundred
// leases to their end in the time of one.
#pragma once

#include <mortise/clock.hpp>

#include "model/history.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

namespace mortise::model {

// Thread-safe.
class StoryTime {
 public:
  StoryTime() = default;
  explicit StoryTime(std::shared_ptr<ManualClock> by_hand) : by_hand_(std::move(by_hand)) {}

  // For clients and stores; null is the clock of the machine.
  [[nodiscard]] const std::shared_ptr<ManualClock>& clock() const noexcept { return by_hand_; }

  // For recorders. By hand each look adds a nanosecond to a time that stands still, so that it
  // tells first from next; that never makes a later moment the earlier one.
  [[nodiscard]] std::int64_t now() const noexcept {
    if (!by_hand_) return monotonic_ns();
    const std::int64_t time = by_hand_->now().time_since_epoch().count();
    return time + looks_.fetch_add(1);
  }

  // Returns when that much time has passed.
  void sleep(std::chrono::nanoseconds time) const {
    if (!by_hand_) {
      std::this_thread::sleep_for(time);
      return;
    }
    const Instant until = by_hand_->now() + time;
    while (by_hand_->now() < until) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

 private:
  std::shared_ptr<ManualClock> by_hand_;
  mutable std::atomic<std::int64_t> looks_{1};
};

}  // namespace mortise::model
