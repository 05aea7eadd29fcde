// SPDX-License-Identifier: MIT
// The machine of `Once::begin()`, stepped whenever it was rung instead of slept for.
#include "runtime/call/pending_begin.hpp"

#include "runtime/hold/slot.hpp"

#include <utility>

namespace mortise::runtime {

PendingBegin::PendingBegin(Beginning what)
    : PendingCall(what.slot->client().shared_from_this()), what_(std::move(what)) {}

PendingBegin::~PendingBegin() {
  call_.reset();
  drop(std::move(what_.slot));
}

bool PendingBegin::step() {
  // If the grant comes first, the run in the result gives the key back.
  if (is_given_up()) grace_.give_up();
  if (must_end()) grace_.end_now();
  const bool may_report = std::exchange(is_first_step_, false);
  if (!call_->advance()) return true;
  // The observer of a wait runs on the thread that starts the call, which makes only this step.
  if (may_report) call_->report_wait();
  return false;
}

void PendingBegin::deliver(detail::Handler* handler) noexcept {
  Run run;
  if (!failure()) {
    attempt([&] {
      run = call_->end();
      fails(run.failure_);
    });
  }
  if (failure() && !run.failure_) {
    run.failure_.code = failure().code;
    static_cast<void>(tried([&] { run.failure_.text = failure().text; }));
  }
  call_.reset();
  hand_over(handler, &run);
}

}  // namespace mortise::runtime
