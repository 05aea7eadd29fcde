// SPDX-License-Identifier: MIT
// The hold of one owner alone, and when it may be passed to the next waiter of the process.
#pragma once

#include <mortise/clock.hpp>

#include "core/hold.hpp"
#include "core/keeping.hpp"
#include "core/sharers.hpp"
#include "core/terms.hpp"

#include <optional>
#include <utility>

namespace mortise::core {

/// Behaves like an optional hold.
class OwnedHold {
 public:
  [[nodiscard]] explicit operator bool() const noexcept { return hold_.has_value(); }
  [[nodiscard]] Hold& operator*() noexcept { return *hold_; }
  [[nodiscard]] Hold* operator->() noexcept { return &*hold_; }
  [[nodiscard]] const Hold* operator->() const noexcept { return &*hold_; }

  void begin(Hold&& hold) noexcept {
    hold_.emplace(std::move(hold));
    read_beside_ = false;
  }
  /// @return the hold that is over.
  [[nodiscard]] Hold end() noexcept {
    Hold ended = *std::move(hold_);
    hold_.reset();
    return ended;
  }
  /// Its owner asks to read next to it.
  void read_beside() noexcept { read_beside_ = true; }
  /// @return whether a waiter with these terms may have it without a request to the server.
  [[nodiscard]] bool may_pass_to(const Terms& next, Instant now, const TurnLimits& turn) const {
    // If its owner is a reader as well, or may be soon, no other owner may be exclusive next to it.
    return !read_beside_ && hold_->terms->agrees_with(next) && hold_->passes < turn.passes &&
           now - hold_->granted_at < turn.time && hold_->lease.fit_to_pass(now) &&
           !Keeping::due(*hold_, now);
  }

 private:
  std::optional<Hold> hold_;
  // If the hold was passed on, the server would grant the reader next to the new owner, whose token
  // would be below the reader's.
  bool read_beside_ = false;
};

}  // namespace mortise::core
