// SPDX-License-Identifier: MIT
#include "runtime/call/conclude_call.hpp"

#include "runtime/hold/open_run.hpp"
#include "runtime/hold/slot.hpp"

namespace mortise::runtime {

ConcludeCall::ConcludeCall(const std::shared_ptr<OpenRun>& open, KeyState state,
                           std::string_view bytes)
    : open_(open),
      ending_(open->ending(state, bytes)),
      unsaid_(std::make_shared<const Record>(Record{
          .state = KeyState::pending, .run = open->number(), .number = ending_.record->number})) {}

void ConcludeCall::begin(Waker* waker) noexcept {
  release_.emplace(open_->slot(),
                   Unlock{.owner = open_->owner(), .ending = &ending_, .waker = waker});
}

Outcome ConcludeCall::run(Failure& failure) {
  const Released told = release_->run(failure);
  return outcome_of(told, failure);
}

Outcome ConcludeCall::end(Failure& failure) {
  const Released told = release_->end(failure);
  return outcome_of(told, failure);
}

Outcome ConcludeCall::outcome_of(Released told, Failure& failure) const {
  if (told == Released::released) return Outcome(ending_.record);
  if (told == Released::was_lost) return Outcome(unsaid_, false, true);
  if (!failure) failure = open_->slot().client().closed_failure();
  return unknown(failure.code);
}

Outcome ConcludeCall::unknown(const std::error_code& why) const noexcept {
  return Outcome(unsaid_, false, false, why);
}

}  // namespace mortise::runtime
