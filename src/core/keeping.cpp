// SPDX-License-Identifier: MIT
// The arithmetic of `min_hold`. It errs to the other side than that of a lease: the name is free
// later rather than sooner.
#include "core/keeping.hpp"

#include "core/figures.hpp"

#include <algorithm>
#include <chrono>

namespace mortise::core {

// As much as the two clocks may have moved apart since the grant. And a lease that is shorter than
// any other of this name would give the server less time to answer than it has ever been given.
Keeping::Keeping(const Hold& hold) noexcept
    : until_(hold.owned_since + hold.terms->min_hold),
      drift_(hold.terms->min_hold / 1000 * drift_permille),
      least_(std::min<Nanos>(hold.terms->lease, std::chrono::seconds(1))) {}

Nanos Keeping::lease(Instant now) const noexcept {
  // Servers count in milliseconds.
  const Nanos left = std::chrono::ceil<std::chrono::milliseconds>(until_ - now + drift_);
  return std::max(left, least_);
}

}  // namespace mortise::core
