// SPDX-License-Identifier: MIT
// The server's answers about an attempt: a grant, a place behind others, or the end of the attempt.
#pragma once

#include "postgres/answer.hpp"
#include "postgres/parts.hpp"

#include <optional>

namespace mortise::postgres {

/// @thread_safety every member may be called concurrently
class Grants {
 public:
  /// @param parts outlive it
  explicit Grants(Parts& parts) : parts_(parts) {}

  /// @param read nothing: the answer made no sense
  /// @return false: it made no sense
  [[nodiscard]] bool answered(const Call& call, std::optional<Answer> read);
  /// The same of a request that counts as unanswered since its connection stood still.
  void answered_late(const Call& call, const Answer& answer);

 private:
  void granted(const Call& call, const Answer& answer);
  void not_granted(const Call& call, const Answer& answer);
  void ended(Acquisition& operation, const Answer& answer);
  void waits(const Call& call, const Answer& answer);

  Parts& parts_;
};

}  // namespace mortise::postgres
