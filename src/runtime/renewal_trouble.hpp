// SPDX-License-Identifier: MIT
// Why the renewals of a hold fail, for its observer.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/error.hpp>

#include <chrono>

namespace mortise::runtime {

/// Made when a renewal fails, and gone when one succeeds: most holds never have one. A hold whose
/// store is out of reach asks up to ten times a second, and an observer needs to know it once.
struct RenewalTrouble {
  /// An observer is told of the same kind of failure no more often than this.
  static constexpr std::chrono::seconds pause_of_reports{1};

  Failure why;     ///< of the last renewal
  Instant told{};  ///< when the observer was told last

  /// @return whether the observer is to be told of this one: at once if it has another code.
  [[nodiscard]] bool note(const Failure& reason, Instant now) {
    const bool news = why.code != reason.code || now - told >= pause_of_reports;
    why = reason;
    if (news) told = now;
    return news;
  }
};

}  // namespace mortise::runtime
