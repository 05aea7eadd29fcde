// SPDX-License-Identifier: MIT
// Whether locks can be taken: what a check of the server does not tell.
#pragma once

#include "redis/parts.hpp"

#include <memory>

namespace mortise::redis {

/// A waiter gets to know by the inbox. So a client that may not listen should not learn that from
/// the first lock that is not free.
/// @thread_safety every member may be called concurrently
class Checks {
 public:
  /// @param parts outlive it
  explicit Checks(Parts& parts) : parts_(parts) {}

  /// The server has answered.
  void answered(Server& server, const Call& call);
  /// What became of an inbox is known.
  void go_on();

 private:
  [[nodiscard]] bool is_inbox_known(Server& server, const Call& call);

  Parts& parts_;
};

}  // namespace mortise::redis
