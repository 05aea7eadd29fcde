// SPDX-License-Identifier: MIT
// What a caller has at the server is one attempt, which may come from another caller and go to one.
#include "runtime/callers_attempt.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "runtime/client_state.hpp"
#include "runtime/shared_name.hpp"

namespace mortise::runtime {

CallersAttempt::CallersAttempt(SharedName& name) noexcept : name_(name) {}

CallersAttempt::~CallersAttempt() {
  if (successor_) name_.client->closing().successor_goes();
}

void CallersAttempt::begin_locked(const core::Terms& terms, bool wait,
                                  const std::shared_ptr<const Memory>& memory,
                                  const std::optional<AttemptId>& beside) {
  attempt_ = name_.new_attempt(terms, wait, memory, beside);
  asked_ = false;
  if (!name_.key) return;
  name_.key->asked_at = name_.key->arrivals;
  name_.key->memory = memory;
}

void CallersAttempt::inherit_locked(std::shared_ptr<Attempt> attempt) {
  attempt_ = std::move(attempt);
  asked_ = true;
  if (!std::exchange(successor_, true)) name_.client->closing().successor_comes();
}

void CallersAttempt::count() { asking_.emplace(name_.client->closing().askers()); }

core::Acquire::Asked CallersAttempt::ask(Instant now) {
  if (!std::exchange(asked_, true)) name_.client->backend().acquire(attempt_);
  const AttemptId& id = attempt_->request().attempt;
  return {.last = attempt_->asked_last(now), .seed = id.client_low + id.sequence};
}

void CallersAttempt::ask_again(Instant now) {
  name_.client->backend().acquire(attempt_);
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
  name_.client->backend().cancel(attempt_);
}

core::Acquire::TakenBack CallersAttempt::taken_back() {
  core::Acquire::TakenBack event{.progress = progress_};
  if (attempt_->done() || !attempt_->abandon()) {
    event.granted = attempt_->grant().number != 0;
    event.recorded = attempt_->record() != nullptr;
  } else if (!base::mutant("core.leaves_its_place_in_the_queue")) {
    name_.client->adopt(attempt_);
  }
  return event;
}

}  // namespace mortise::runtime
