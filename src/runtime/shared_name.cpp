// SPDX-License-Identifier: MIT
// The calls behind the waiters of a name's state.
#include "runtime/shared_name.hpp"

#include "runtime/acquire_call.hpp"
#include "runtime/client_state.hpp"

namespace mortise::runtime {

AcquireCall* SharedName::call_of(core::Waiter* waiter) noexcept {
  return static_cast<AcquireCall*>(waiter);
}

AcquireCall* SharedName::requester_locked() const noexcept { return call_of(state.requester()); }

AcquireCall* SharedName::first_locked() const noexcept {
  return state.queue().empty() ? nullptr : call_of(state.queue().front());
}

void SharedName::wake_locked(core::Waiter* waiter) noexcept {
  if (waiter != nullptr) call_of(waiter)->wake_locked();
}

void SharedName::wake_reentered_locked() noexcept {
  while (core::Waiter* const waiter = state.reenter_waiter()) wake_locked(waiter);
}

std::shared_ptr<Attempt> SharedName::new_attempt(const core::Terms& terms, bool wait) const {
  return std::make_shared<Attempt>(Acquisition::Request{.attempt = client->new_attempt_id(),
                                                        .name = name,
                                                        .mode = Mode::exclusive,
                                                        .lease = terms.lease,
                                                        .label = terms.label,
                                                        .wait = wait},
                                   client);
}

HoldId SharedName::hold_id(const core::Hold& hold) const {
  return {.name = name, .attempt = hold.attempt, .number = hold.number, .mode = Mode::exclusive};
}

}  // namespace mortise::runtime
