// SPDX-License-Identifier: MIT
// The message for each end of a call, and what the observer is told of it.
#include "runtime/call/acquire_report.hpp"

#include "runtime/call/acquire_call.hpp"
#include "runtime/client/client_state.hpp"
#include "runtime/hold/hold_query.hpp"
#include "runtime/hold/slot.hpp"

#include <string>
#include <utility>

namespace mortise::runtime {
namespace {

using core::Acquire;

Errc code_of(Acquire::Why why) noexcept {
  return why == Acquire::Why::cancelled ? Errc::cancelled : Errc::timeout;
}

}  // namespace

Event AcquireReport::event() const noexcept {
  return {
      .name = slot_.name(), .label = caller_.terms->label, .mode = slot_.mode_of(*caller_.terms)};
}

bool AcquireReport::waits() noexcept {
  Observer* const observer = slot_.client().observer();
  if (observer == nullptr || std::exchange(waits_, true)) return false;
  observer->waits(event());
  return true;
}

AcquireReport::~AcquireReport() {
  if (!waits_) return;
  // Out of memory, or of threads: there is no memory for words.
  Failure why;
  why.code = Errc::exhausted;
  Event ended = event();
  ended.took = slot_.client().now() - caller_.began();
  slot_.client().observer()->wait_ended(ended, why);
}

void AcquireReport::learn_from_locked(const AcquireCall* requester) {
  trouble.reset();
  const Attempt* const asks = requester != nullptr ? requester->attempt_locked() : nullptr;
  if (asks == nullptr) return;
  holder = asks->holder();
  trouble = asks->trouble();
}

Failure AcquireReport::tell(const core::Acquire::Action& end, Instant now) {
  Failure why = reason(end);
  Observer* const observer = slot_.client().observer();
  if (observer == nullptr) return why;
  const bool granted = end.end == Acquire::End::granted;
  const bool holds = granted || (waits_ && end.end == Acquire::End::reentered);
  // A call that fails has looked at the clock before it was answered.
  if (!granted) now = slot_.client().now();
  Event ended = event();
  ended.took = now - caller_.began();
  if (holds) ended.token = token_of(slot_, caller_.owner, caller_.terms->mode);
  if (std::exchange(waits_, false)) observer->wait_ended(ended, why);
  if (granted) observer->granted(ended);
  const bool contended = end.end == Acquire::End::contended && why.code == Errc::timeout;
  if (contended && gives_up_by_contention_) observer->contended(ended);
  return why;
}

Failure AcquireReport::reason(const core::Acquire::Action& end) const {
  switch (end.end) {
    case Acquire::End::reentered:
    case Acquire::End::recorded:
    case Acquire::End::granted: return {};
    case Acquire::End::lost:
      return {
          Errc::lost,
          slot_.name() + ": this owner lost it earlier, and must unlock it before it locks again"};
    case Acquire::End::upgrade:
      return {Errc::unsupported,
              slot_.name() + ": this owner holds it as a reader; unlock it first"};
    case Acquire::End::differs: return differs();
    case Acquire::End::closed: return slot_.client().closed_failure();
    case Acquire::End::cannot_ask:
    case Acquire::End::failed: return failure;
    case Acquire::End::contended: return {code_of(end.why), slot_.name()};
    case Acquire::End::trouble: return *trouble;
    case Acquire::End::no_answer: return slot_.client().store().no_answer();
    case Acquire::End::in_doubt:
      return trouble ? Failure(Errc::in_doubt, trouble->text)
                     : slot_.client().store().no_answer(Errc::in_doubt);
    case Acquire::End::nonsense:
      return {Errc::protocol, slot_.name() + ": the store granted a number that is out of range"};
    case Acquire::End::too_late: break;
  }
  return {Errc::unavailable,
          slot_.name() + ": grants arrive after their lease has ended; use a longer lease"};
}

// The same message as the stores return.
Failure AcquireReport::differs() const {
  return {Errc::misconfigured, slot_.name() + ": the store has " + std::to_string(permits) +
                                   " permits, but this client asks for " +
                                   std::to_string(caller_.terms->permits) +
                                   "; use one number in all clients"};
}

}  // namespace mortise::runtime
