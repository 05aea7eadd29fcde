// SPDX-License-Identifier: MIT
// The calls behind the waiters of a name's state.
#include "runtime/shared_name.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "runtime/acquire_call.hpp"
#include "runtime/client_state.hpp"
#include "runtime/kept_hold.hpp"

#include <cstdint>

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

void SharedName::wake_joined_locked() noexcept {
  if (state.sharers() == nullptr) return;
  const Instant now = client->now();
  while (core::Waiter* const waiter = state.join_waiter(now, client->turn())) wake_locked(waiter);
}

void SharedName::leaves_locked(core::Waiter& waiter) noexcept {
  wake_locked(state.leave(waiter));
  wake_joined_locked();
}

void SharedName::tell_locked(KeyNews news) noexcept {
  if (base::mutant("core.latecomers_are_told_the_answer")) news.asked_at = UINT64_MAX;
  if (base::mutant("core.a_mismatch_is_told_as_an_outcome")) news.whole = true;
  state.tell([&](core::Waiter& waiter) {
    AcquireCall& call = *call_of(&waiter);
    if (!call.key()->served_by(news)) return false;
    call.key()->record = news.record;
    call.wake_locked();
    return true;
  });
}

std::shared_ptr<Attempt> SharedName::new_attempt(const core::Terms& terms, bool wait,
                                                 const std::shared_ptr<const Memory>& memory,
                                                 const std::optional<AttemptId>& beside) const {
  return std::make_shared<Attempt>(Acquisition::Request{.attempt = client->new_attempt_id(),
                                                        .name = name,
                                                        .mode = mode_of(terms),
                                                        .lease = terms.lease,
                                                        .label = terms.label,
                                                        .wait = wait,
                                                        .permits = terms.permits,
                                                        .memory = memory,
                                                        .beside = beside},
                                   client);
}

HoldId SharedName::hold_id(const core::Hold& hold) const {
  return {
      .name = name, .attempt = hold.attempt, .number = hold.number, .mode = mode_of(*hold.terms)};
}

std::shared_ptr<KeptHold> SharedName::kept(const core::Hold& hold, Instant now) const {
  const bool in_doubt = hold.lease.in_doubt();
  return std::make_shared<KeptHold>(hold_id(hold), core::Keeping(hold),
                                    in_doubt ? now + core::late_requests_live : now);
}

}  // namespace mortise::runtime
