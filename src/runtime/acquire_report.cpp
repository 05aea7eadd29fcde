// SPDX-License-Identifier: MIT
// The words for each end of a call.
#include "runtime/acquire_report.hpp"

#include "runtime/client_state.hpp"
#include "runtime/slot.hpp"

#include <string>

namespace mortise::runtime {
namespace {

using core::Acquire;

Errc code_of(Acquire::Why why) noexcept {
  return why == Acquire::Why::cancelled ? Errc::cancelled : Errc::timeout;
}

}  // namespace

Failure AcquireReport::tell(const core::Acquire::Action& end, core::Nanos took) {
  switch (end.end) {
    case Acquire::End::reentered:
    case Acquire::End::recorded: return {};
    case Acquire::End::granted: tell_granted(took); return {};
    case Acquire::End::lost: return {Errc::lost, slot_.name() + ": unlock the lost hold first"};
    case Acquire::End::upgrade:
      return {Errc::unsupported,
              slot_.name() + ": held as a reader by the same owner; unlock it first"};
    case Acquire::End::differs: return differs();
    case Acquire::End::closed: return slot_.client().closed_failure();
    case Acquire::End::cannot_ask:
    case Acquire::End::failed: return failure;
    case Acquire::End::contended: return contended(code_of(end.why));
    case Acquire::End::trouble: return *trouble;
    case Acquire::End::no_answer: return slot_.client().no_answer();
    case Acquire::End::in_doubt:
      return trouble ? Failure(Errc::in_doubt, trouble->text)
                     : slot_.client().no_answer(Errc::in_doubt);
    case Acquire::End::nonsense:
      return {Errc::protocol, slot_.name() + ": grant number out of range"};
    case Acquire::End::too_late: break;
  }
  return {Errc::unavailable, slot_.name() + ": grants arrive after their lease has ended"};
}

// In the words of a store that is asked.
Failure AcquireReport::differs() const {
  return {Errc::misconfigured, slot_.name() + ": has " + std::to_string(permits) +
                                   " permits, and was asked for with " +
                                   std::to_string(caller_.terms->permits)};
}

Failure AcquireReport::contended(Errc code) {
  Observer* const observer = gives_up_by_contention_ ? slot_.client().observer() : nullptr;
  if (observer != nullptr) {
    observer->contended({.name = slot_.name(), .label = caller_.terms->label});
  }
  return {code, slot_.name()};
}

void AcquireReport::tell_granted(core::Nanos took) {
  Observer* const observer = slot_.client().observer();
  if (observer == nullptr) return;
  observer->granted({.name = slot_.name(),
                     .label = caller_.terms->label,
                     .token = slot_.token(caller_.owner, caller_.terms->mode),
                     .took = took});
}

}  // namespace mortise::runtime
