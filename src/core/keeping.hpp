// SPDX-License-Identifier: MIT
// How long a name is kept for nobody, where its owner has unlocked it sooner than `min_hold` says.
#pragma once

#include <mortise/clock.hpp>

#include "core/hold.hpp"

namespace mortise::core {

/// Decides only. The grant counts from when the client heard of it, which is not before the server
/// made it; so whatever follows of that is no earlier than was promised, by the server's clock.
class Keeping {
 public:
  /// @return whether the hold is younger than its `min_hold`: it must be kept, and not passed on.
  [[nodiscard]] static bool due(const Hold& hold, Instant now) noexcept {
    return now - hold.owned_since < hold.terms->min_hold;
  }
  explicit Keeping(const Hold& hold) noexcept;

  /// @return when the name may be free, by the client's clock.
  [[nodiscard]] Instant until() const noexcept { return until_; }
  /// @return when the name may be free, by the store's clock too. From then on it can be released.
  [[nodiscard]] Instant ends() const noexcept { return until_ + drift_; }
  /// @return the lease that has the hold end then, if the server counts it from `now` on or later.
  [[nodiscard]] Nanos lease(Instant now) const noexcept;

 private:
  Instant until_;
  Nanos drift_;
  Nanos least_;
};

}  // namespace mortise::core
