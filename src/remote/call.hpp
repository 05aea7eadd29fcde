// SPDX-License-Identifier: MIT
// The part of a call that is the same at every store: the request of the library, its purpose, and
// how long its answer may take.
#pragma once

#include <mortise/operation.hpp>

#include "core/figures.hpp"
#include "remote/purpose.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

namespace mortise::remote {

/// How long the answer to a call may take. If no answer has come by then, the connection counts as
/// dead.
struct Patience {
  std::chrono::nanoseconds usual{};    ///< if the round trips of the connection are short
  std::chrono::nanoseconds longest{};  ///< if they are long

  /// @param lease of the hold that depends on the answer
  [[nodiscard]] static Patience for_lease(core::Nanos lease) noexcept {
    return {core::command_timeout(lease), core::longest_command(lease)};
  }
};

[[nodiscard]] inline core::Nanos shortest_lease(Renewal& renewal) noexcept {
  core::Nanos shortest = core::longest_lease;
  for (const Renewal::Item& item : renewal.items()) shortest = std::min(shortest, item.lease);
  return shortest;
}

/// A store adds how it writes the call, and what it needs to read the answer. The kind or the
/// purpose of a call decides the type of its operation.
struct Call {
  std::shared_ptr<Operation> operation{};
  Purpose why = Purpose::question;
  std::chrono::nanoseconds lease{};  ///< how long the hold that it frees would keep others out
  Instant asked{};                   ///< our clock before it left; unset = it leaves now
  Instant since{};                   ///< when the library asked
  bool once = false;                 ///< a take: see remote::Courses::asked()

  [[nodiscard]] Purpose purpose() const noexcept { return why; }
  /// @return the shortest lease of the holds that depend on the answer.
  [[nodiscard]] core::Nanos shortest_lease() const {
    if (is_of_attempt(why)) return acquisition().request().lease;
    return why == Purpose::renew ? remote::shortest_lease(renewal()) : core::longest_lease;
  }
  [[nodiscard]] Acquisition& acquisition() const { return static_cast<Acquisition&>(*operation); }
  [[nodiscard]] std::shared_ptr<Acquisition> shared_acquisition() const {
    return std::static_pointer_cast<Acquisition>(operation);
  }
  [[nodiscard]] const AttemptId& attempt() const { return acquisition().request().attempt; }
  [[nodiscard]] Release& releasing() const { return static_cast<Release&>(*operation); }
  [[nodiscard]] Renewal& renewal() const { return static_cast<Renewal&>(*operation); }
  [[nodiscard]] Inspection& inspection() const { return static_cast<Inspection&>(*operation); }
  [[nodiscard]] Recollection& recollection() const {
    return static_cast<Recollection&>(*operation);
  }
};

}  // namespace mortise::remote
