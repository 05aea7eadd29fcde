// SPDX-License-Identifier: MIT
// When a pending request is asked again, though nothing happened: the decision behind "no wake-up
// is lost" and "a lost reply is retried".
#pragma once

#include <mortise/clock.hpp>
#include <mortise/operation.hpp>

#include "base/random_id.hpp"
#include "core/figures.hpp"

namespace mortise::core {

/// One per pending request.
class AskSchedule {
 public:
  /// @param now when the request was last handed to the backend
  AskSchedule(Nanos lease, Instant now, std::uint64_t seed) noexcept
      : lease_(lease), asked_(now), random_(seed) {}

  /// @return when to ask again, given what is known about the request now.
  [[nodiscard]] Instant next(Acquisition::Progress progress, bool in_trouble) const noexcept {
    if (in_trouble) return asked_ + pause_;
    if (progress == Acquisition::Progress::queued) return asked_ + fallback_period;
    return asked_ + command_timeout(lease_);
  }
  /// It was asked again.
  void asked(Instant now, bool in_trouble) noexcept {
    asked_ = now;
    // Doubling with full jitter in the upper half, so that clients that lost one server together
    // do not come back together.
    step_ = in_trouble ? std::min<Nanos>(step_ * 2, fallback_period) : first_pause;
    pause_ =
        step_ / 2 +
        Nanos(static_cast<Nanos::rep>(random_.unit() * static_cast<double>(step_.count()) / 2));
  }

 private:
  static constexpr std::chrono::milliseconds first_pause{20};
  Nanos lease_;
  Instant asked_;
  Nanos step_ = first_pause;
  Nanos pause_ = first_pause;
  base::SplitMix random_;
};

}  // namespace mortise::core
