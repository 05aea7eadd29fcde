// SPDX-License-Identifier: MIT
// One call of unlock() in its own thread: passes the name to the next waiter of this client, or
// frees it at the server.
#pragma once

#include <mortise/error.hpp>
#include <mortise/operation.hpp>
#include <mortise/owner.hpp>

#include "core/hold.hpp"

#include <memory>

namespace mortise::runtime {

class ClientState;
class HoldKeeper;
class Slot;
struct SharedName;

/// Takes the slot's mutex to end the hold, and once more when the release has left: only then may
/// this client ask for the name again, so that its request cannot overtake its release.
class ReleaseCall {
 public:
  explicit ReleaseCall(Slot& slot) noexcept;
  /// @param failure receives `not_owner`
  Released run(Owner owner, Failure& failure);

 private:
  /// @param successor the terms of whoever is to come next; may be null
  Released free_at_server(const core::Hold& ended,
                          const std::shared_ptr<const core::Terms>& successor);
  Released await(const std::shared_ptr<Release>& release, const core::Hold& ended);
  void tell_released(const core::Hold& ended, Released outcome);
  void tell_failed(const core::Hold& ended, Failure why);

  SharedName& name_;
  HoldKeeper& keeper_;
  ClientState& client_;
};

}  // namespace mortise::runtime
