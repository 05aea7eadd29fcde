// SPDX-License-Identifier: MIT
// Runs one operation of a backend to its end on the calling thread, without a client: for
// administrators' calls that are no locks.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/listing.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::remote {

/// A host whose sources nobody polls but `run()`.
/// @thread_safety one thread only
class OneShotHost final : public Host {
 public:
  explicit OneShotHost(std::shared_ptr<Clock> clock = Clock::real()) : clock_(std::move(clock)) {}

  /// Polls until the operation is done or the time is up.
  void run(const Operation& operation, std::chrono::milliseconds at_most);

  [[nodiscard]] const std::shared_ptr<Clock>& clock() const noexcept override { return clock_; }
  void attach(Source& source) override { sources_.push_back(&source); }
  void detach(Source& source) noexcept override { std::erase(sources_, &source); }
  void changed(Source& /*source*/) noexcept override {}
  void hold_lost(const HoldId& /*hold*/, Failure /*why*/) override {}

 private:
  std::shared_ptr<Clock> clock_;
  std::vector<Source*> sources_;
};

/// Has a backend of its own take a name from whoever holds it; it is started, and stopped
/// afterwards.
/// @param of the hold that is meant, and no other; 0 = whichever is found
/// @return what was answered
/// @errors `misconfigured` (an empty name), `unavailable` (no answer in time), and what the
/// request fails with; thrown as `Error`
[[nodiscard]] std::optional<Holder> force_release(Backend& backend, std::string_view name,
                                                  std::chrono::milliseconds wait, Token of);

}  // namespace mortise::remote
