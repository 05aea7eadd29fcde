// SPDX-License-Identifier: MIT
// A host without a client: it runs one operation of a backend to its end on the calling thread.
#pragma once

#include <mortise/backend.hpp>

#include "base/poll_sources.hpp"
#include "base/span.hpp"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

namespace mortise::test {

/// Only `run()` polls its sources.
/// @thread_safety one thread only
class OneShotHost final : public Host {
 public:
  explicit OneShotHost(std::shared_ptr<Clock> clock = Clock::real()) : clock_(std::move(clock)) {}

  /// Polls until the operation is done or the time is up.
  void run(const Operation& operation, std::chrono::milliseconds at_most) {
    const Instant end = clock_->now() + base::bounded_wait(at_most);
    // Checked first: if it is over already, perhaps no event ends a poll.
    while (!operation.done()) {
      base::poll_sources(sources_, *clock_, end);
      if (clock_->now() >= end) return;
    }
  }

  [[nodiscard]] const std::shared_ptr<Clock>& clock() const noexcept override { return clock_; }
  void attach(Source& source) override { sources_.push_back(&source); }
  void detach(Source& source) noexcept override { std::erase(sources_, &source); }
  void changed(Source& /*source*/) noexcept override {}
  void hold_lost(const HoldId& /*hold*/, Failure /*why*/) override {}

 private:
  std::shared_ptr<Clock> clock_;
  std::vector<Source*> sources_;
};

}  // namespace mortise::test
