// SPDX-License-Identifier: MIT
// What a caller has at the server is one attempt, which may come from another caller and go to one.
#include "runtime/call/callers_attempt.hpp"

#include "base/mutant.hpp"
#include "runtime/client/client_state.hpp"
#include "runtime/hold/slot.hpp"

namespace mortise::runtime {

CallersAttempt::CallersAttempt(Slot& slot, Waker* waker) noexcept : slot_(slot), waker_(waker) {}

CallersAttempt::~CallersAttempt() { uncount(); }

void CallersAttempt::uncount() noexcept {
  if (std::exchange(successor_, false)) slot_.client().closing().successor_goes();
  asking_.reset();
}

void CallersAttempt::begin_locked(const core::Terms& terms, bool wait,
                                  const std::shared_ptr<const Memory>& memory,
                                  const std::optional<AttemptId>& beside) {
  attempt_ = slot_.new_attempt_locked(terms, wait, memory, beside);
  if (waker_ != nullptr) attempt_->wake_through(waker_->weak_from_this());
  asked_ = false;
  if (!slot_.key) return;
  slot_.key->asked_at = slot_.key->arrivals;
  slot_.key->memory = memory;
}

void CallersAttempt::inherit_locked(std::shared_ptr<Attempt> attempt) {
  attempt_ = std::move(attempt);
  attempt_->wake_through(waker_ != nullptr ? waker_->weak_from_this() : std::weak_ptr<Waker>());
  asked_ = true;
  if (!std::exchange(successor_, true)) slot_.client().closing().successor_comes();
}

void CallersAttempt::count() {
  asking_.emplace(slot_.client().closing().askers(), waker_ == nullptr);
}

core::Acquire::Asked CallersAttempt::ask(Instant now) {
  if (!std::exchange(asked_, true)) slot_.client().store().backend().acquire(attempt_);
  const AttemptId& id = attempt_->request().attempt;
  return {.last = attempt_->asked_last(now), .seed = id.client_low + id.sequence};
}

void CallersAttempt::ask_again(Instant now) {
  slot_.client().store().backend().acquire(attempt_);
  attempt_->asked(now);
}

core::Acquire::Decided CallersAttempt::decided() const noexcept {
  if (attempt_->failure()) return core::Acquire::Decided::failed;
  if (attempt_->record()) return core::Acquire::Decided::recorded;
  const bool granted = attempt_->grant().number != 0;
  return granted ? core::Acquire::Decided::granted : core::Acquire::Decided::busy;
}

void CallersAttempt::cancel() {
  progress_ = attempt_->progress();
  if (base::mutant("core.leaves_its_place_in_the_queue")) return;
  slot_.client().store().backend().cancel(attempt_);
}

core::Acquire::TakenBack CallersAttempt::taken_back() {
  core::Acquire::TakenBack event{.progress = progress_};
  if (attempt_->done() || !attempt_->abandon()) {
    event.granted = attempt_->grant().number != 0;
    event.recorded = attempt_->record() != nullptr;
  } else if (!base::mutant("core.leaves_its_place_in_the_queue")) {
    // The attempt may stay for a while: it must not keep the memory of the call.
    if (waker_ != nullptr) attempt_->wake_through({});
    slot_.client().store().adopt(attempt_);
  }
  return event;
}

}  // namespace mortise::runtime
