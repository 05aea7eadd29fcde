// SPDX-License-Identifier: MIT
// A client that yields a name lets other clients ask first: they are notified behind its release,
// and its next waiter would have the name again before that.
#pragma once

#include "postgres/answer.hpp"
#include "postgres/contested.hpp"
#include "postgres/parts.hpp"

#include <memory>
#include <string>

namespace mortise::postgres {

/// @thread_safety every member may be called concurrently
class Yields {
 public:
  /// @param parts outlive it
  explicit Yields(Parts& parts) : parts_(parts) {}

  /// A release is about to be sent. @return true if its successor gives way to other clients
  [[nodiscard]] bool give_way(const Release& release);
  /// The release was answered. @param others whether other clients wait
  void released(const Call& release, ReleaseOutcome outcome, bool others);

 private:
  [[nodiscard]] bool is_contested(const HoldId& hold) const;
  void ask_at(const std::shared_ptr<Acquisition>& operation, Instant when);

  Parts& parts_;
  Contested contested_;
};

}  // namespace mortise::postgres
