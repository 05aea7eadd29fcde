// SPDX-License-Identifier: MIT
// The check of a client. A backend whose waiters are told of grants by a channel of their client's
// has to know which client that is, to try whether it may listen.
#pragma once

#include <mortise/operation.hpp>

namespace mortise::runtime {

// Not final: compilers may take the address of a vtable for the type, and two libraries have two.
class ClientCheck : public Check {
 public:
  /// @param client all attempts of that client begin with it, whatever their `sequence`
  explicit ClientCheck(const AttemptId& client) noexcept : client_(client) {}

  [[nodiscard]] const AttemptId& client() const noexcept { return client_; }

 private:
  const AttemptId client_;
};

}  // namespace mortise::runtime
