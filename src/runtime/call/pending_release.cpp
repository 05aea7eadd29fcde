// SPDX-License-Identifier: MIT
#include "runtime/call/pending_release.hpp"

#include <mortise/guard.hpp>

#include "runtime/client/raise.hpp"
#include "runtime/hold/slot.hpp"

#include <utility>

namespace mortise {

Pending<Released> Guard::unlock_async() {
  if (!slot_) throw Error({Errc::not_owner, "unlock_async(): the guard is empty"});
  Pending<Released> pending(std::make_shared<runtime::PendingRelease>(slot_, owner_, mode_));
  slot_.reset();  // the call has it
  token_ = Token();
  return pending;
}

namespace runtime {

PendingRelease::PendingRelease(const std::shared_ptr<Slot>& slot, Owner owner, Mode mode)
    : PendingCall(slot->client().shared_from_this()), slot_(slot), owner_(owner), mode_(mode) {}

PendingRelease::~PendingRelease() {
  call_.reset();
  drop(std::move(slot_));
}

void PendingRelease::begin() {
  call_.emplace(*slot_,
                Unlock{.owner = owner_, .mode = mode_, .by = Unlocking::guard, .waker = this});
}

void PendingRelease::discard() noexcept {
  // Out of memory for the request, the hold ends at its deadline.
  static_cast<void>(tried([this] {
    ReleaseCall call(*slot_, {owner_, mode_, Unlocking::guard});
    call.hurry();
    Failure misuse;
    call.run(misuse);
  }));
}

void PendingRelease::deliver(detail::Handler* handler) noexcept {
  Released outcome = Released::unknown;
  Failure misuse;  // its owner was unlocked behind the guard's back
  // Only the message of the misuse needs memory, and may throw.
  if (tried([&] { outcome = call_->end(misuse); }) || misuse) outcome = Released::was_lost;
  call_.reset();
  hand_over(handler, &outcome);
}

}  // namespace runtime
}  // namespace mortise
