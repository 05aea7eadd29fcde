// SPDX-License-Identifier: MIT
// One call of unlock() in its own thread: passes the name to the next waiter of this client, or
// frees it at the server. A key is never passed, since each run is counted and fenced by the store.
#pragma once

#include <mortise/error.hpp>
#include <mortise/operation.hpp>
#include <mortise/owner.hpp>

#include "core/hold.hpp"

#include <memory>

namespace mortise::runtime {

class ClientState;
class HoldKeeper;
struct KeyEnding;
class Slot;
struct SharedName;

/// Takes the slot's mutex to end the hold, and once more when the release has left: only then may
/// this client ask for the name again, so that its request cannot overtake its release.
class ReleaseCall {
 public:
  /// @param ending of a run that has an outcome: its record becomes what stands; null otherwise
  ReleaseCall(Slot& slot, Mode mode, KeyEnding* ending = nullptr) noexcept;
  /// @param failure receives `not_owner`; of a key also why the answer is `unknown`
  Released run(Owner owner, Failure& failure);

 private:
  /// @param successor the terms of whoever is to come next; may be null
  Released free_at_server(const core::Hold& ended,
                          const std::shared_ptr<const core::Terms>& successor);
  /// @param asked_at `KeyTalk::arrivals` when the hold ended
  Released free_key(const core::Hold& ended, std::uint64_t asked_at, Failure& failure);
  /// What the runner has written by itself may stand, although its hold is over here.
  Released confirm(Failure& failure);
  Released await(std::shared_ptr<Release> release, const core::Hold& ended);
  void tell_released(const core::Hold& ended, Released outcome);
  void tell_failed(const core::Hold& ended, Failure why);

  const Mode mode_;  // `shared`: of a reader
  KeyEnding* const ending_;
  SharedName& name_;
  HoldKeeper& keeper_;
  ClientState& client_;
};

}  // namespace mortise::runtime
