// SPDX-License-Identifier: MIT
// Why the renewals of a hold fail, for the observer and for `Client::snapshot()`.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/error.hpp>

#include <chrono>

namespace mortise::runtime {

/// Made when a renewal fails, and gone when one succeeds: most holds never have one. A hold whose
/// store is out of reach asks up to ten times a second, and an observer needs to know it once.
struct RenewalTrouble {
  /// An observer is told of a failure after this pause, and of one failure with another code before
  /// the pause is over.
  static constexpr std::chrono::seconds pause_of_reports{1};

  Failure why;            ///< of the last renewal
  Instant told{};         ///< when the observer was told last
  bool was_early{false};  ///< it was told before the pause was over

  /// @return whether the observer is to be told of this one. Codes that alternate, as those of
  /// several servers do, are told no more than twice in a pause.
  [[nodiscard]] bool note(const Failure& reason, Instant now) {
    const bool is_due = !why || now - told >= pause_of_reports;
    const bool news = is_due || (why.code != reason.code && !was_early);
    why = reason;
    if (!news) return false;
    told = now;
    was_early = !is_due;
    return true;
  }
};

}  // namespace mortise::runtime
