// SPDX-License-Identifier: MIT
// The course of a call in its thread: from one sleep to the next, and what its caller is told in
// the end.
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "runtime/acquire_call.hpp"
#include "runtime/raise.hpp"
#include "runtime/slot.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace mortise::runtime {

Failure AcquireCall::run(std::optional<Holder>* holder) {
  start();
  while (advance()) {
    report_wait();
    sleep(core::Nanos::max());
  }
  return end(holder);
}

void AcquireCall::start() {
  if (!client_.alive()) {
    action_ = {.what = Machine::Do::end, .end = Machine::End::closed};
    return;
  }
  if (!options_.stop.stop_possible()) return;
  on_stop_.emplace(options_.stop, [this] {
    // In a forked child the waiting thread does not exist, and its mutex may be locked for ever.
    if (client_.forked()) return;
    stopped_.store(true);
    const Slot::Lock lock(slot_.mutex);
    wake_locked();
  });
}

bool AcquireCall::advance() {
  // An observer that is told of the wait may have forked. No mutex may be touched in the child.
  if (client_.forked()) action_ = {.what = Machine::Do::end, .end = Machine::End::closed};
  while (action_.what != Machine::Do::end) {
    if (sleeps()) return true;
    action_ = carry_out(action_);
  }
  return false;
}

bool AcquireCall::sleeps() {
  const bool begins = !std::exchange(asleep_, true);
  switch (action_.what) {
    case Machine::Do::park:
    case Machine::Do::await: asleep_ = begins; return begins;
    case Machine::Do::take_back:
      if (begins) own_.cancel();
      asleep_ = !own_->done() && BootClock::now() < grace_.end();
      return asleep_;
    default: asleep_ = false; return false;
  }
}

// The observer's time is a part of the caller's time. The observer may have forked as well.
void AcquireCall::report_wait() noexcept {
  if (report_.waits() && !client_.forked()) now_ = client_.now();
}

core::Nanos AcquireCall::sleeps_for() noexcept {
  const bool by_real_time = action_.what == Machine::Do::take_back;
  return by_real_time ? grace_.end() - BootClock::now() : action_.until - now_;
}

void AcquireCall::sleep(core::Nanos at_most) {
  if (client_.forked()) return;
  at_most = std::clamp(sleeps_for(), core::Nanos(0), std::max(at_most, core::Nanos(0)));
  if (action_.what == Machine::Do::park) {
    parker_.park(seen_, at_most);
  } else if (action_.what == Machine::Do::take_back) {
    client_.wait_done(*own_, at_most);
  } else {
    if (base::mutant("core.signal_after_condition")) {
      const Slot::Lock lock(slot_.mutex);  // where a thread may be stopped
      seen_ = own_->signal();
    }
    client_.wait(*own_, seen_, at_most, now_);
  }
}

bool AcquireCall::holds() const noexcept {
  return action_.what == Machine::Do::end &&
         (action_.end == Machine::End::granted || action_.end == Machine::End::reentered);
}

Failure AcquireCall::end(std::optional<Holder>* holder) {
  if (action_.end == Machine::End::failed) report_.failure = own_->failure();
  Failure failure = report_.tell(action_, now_);
  // An observer may have forked, and have come back in the child.
  if (!failure && client_.forked()) failure = client_.closed_failure();
  if (!failure || holder == nullptr) return failure;
  *holder = std::move(report_.holder);
  // For those who keep the failure; most want to know only that there is one.
  if (failure.code == Errc::timeout && *holder && !(*holder)->label.empty()) {
    failure.text += ": held by " + (*holder)->label;
  }
  return failure;
}

Failure acquire(Slot& slot, const std::shared_ptr<const core::Terms>& terms,
                const AcquireOptions& options, std::optional<Holder>* holder, KeyCall* key,
                Grace* grace) {
  // An observer may destroy whatever else keeps this slot, and with it the client. Nobody else may:
  // who destroys a lock that is in use loses this frame as well.
  const std::shared_ptr<Slot> keep =
      slot.client().observer() != nullptr ? slot.shared_from_this() : nullptr;
  AcquireCall call(slot, terms, options, key, Queueing::joins, grace);
  try {
    return call.run(holder);
  } catch (const std::system_error& error) {
    call.forsake();
    return failure_of(error);
  } catch (...) {
    call.forsake();  // out of memory: the name must not wait for a call that is over
    throw;
  }
}

}  // namespace mortise::runtime
