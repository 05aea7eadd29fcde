// SPDX-License-Identifier: MIT
// From its arrival to its end: a call waits for its turn inside the process, then asks the server,
// and leaves cleanly whichever way it ends.
#include "core/acquire.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"

#include <algorithm>

namespace mortise::core {
namespace {

using Do = Acquire::Do;
using End = Acquire::End;

Acquire::Action does(Do what) noexcept { return {.what = what}; }
Acquire::Action ends(End end) noexcept { return {.what = Do::end, .end = end}; }
Acquire::Action leaves(End end) noexcept { return {.what = Do::leave, .end = end}; }

Instant end_of(Instant moment, Nanos span) noexcept {
  return span >= never - moment ? never : moment + span;
}

}  // namespace

Acquire::Acquire(const Plan& plan) noexcept
    : plan_(plan),
      may_wait_(plan.wait > Nanos(0) && plan.queues),
      until_(end_of(plan.began, plan.wait > Nanos(0) ? plan.wait : command_timeout(plan.lease))) {}

Acquire::Action Acquire::step(const Entered& event) noexcept {
  switch (event.entry) {
    case NameState::Entry::reentered: return ends(End::reentered);
    case NameState::Entry::joined: return ends(End::granted);
    case NameState::Entry::upgrade: return ends(End::upgrade);
    case NameState::Entry::differs: return ends(End::differs);
    case NameState::Entry::lost: return ends(End::lost);
    case NameState::Entry::ask: return does(Do::begin);
    case NameState::Entry::wait: return does(Do::look);
    case NameState::Entry::busy: break;
  }
  if (event.requester_in_trouble) return ends(End::trouble);
  return {.what = Do::end, .end = End::contended, .why = Why::timeout};
}

Acquire::Why Acquire::reason_to_leave(const View& view) const noexcept {
  if (!view.alive) return Why::closed;
  if (view.stopped) return Why::cancelled;
  return view.now >= until_ ? Why::timeout : Why::none;
}

Acquire::Action Acquire::step(const Turn& event) noexcept {
  if (event.wakeup == Waiter::Wakeup::held) return does(Do::take_over);
  if (event.wakeup == Waiter::Wakeup::ask) return does(Do::begin);
  if (event.wakeup == Waiter::Wakeup::told) return ends(End::recorded);
  if (event.why == Why::none) return {.what = Do::park, .until = until_};
  if (event.why == Why::timeout && event.requester_in_trouble) return ends(End::trouble);
  why_ = event.why;
  return ends_waiting(Do::end);
}

Acquire::Action Acquire::ends_waiting(Do what) const noexcept {
  const End end = why_ == Why::closed ? End::closed : End::contended;
  return {.what = what, .end = end, .why = why_};
}

Acquire::Action Acquire::step(const Passed& event) noexcept {
  if (event.stands) return ends(End::granted);
  return event.view.alive ? does(Do::enter) : ends(End::closed);
}

Acquire::Action Acquire::step(const Begun& event) noexcept {
  asks_since_ = event.view.now;
  if (!event.may_ask) return leaves(End::cannot_ask);
  // Asked to stop before anything was sent: nothing has to be taken back.
  if (!event.view.stopped || event.asked) return does(Do::ask);
  why_ = Why::cancelled;
  return ends_waiting(Do::leave);
}

Acquire::Action Acquire::step(const Asked& event) noexcept {
  schedule_.emplace(plan_.lease, event.last, event.seed);
  return does(Do::check);
}

Acquire::Action Acquire::step(const Standing& event) noexcept {
  if (event.done) return does(Do::settle);
  const Instant now = event.view.now;
  note_trouble(event.in_trouble, now);
  why_ = reason_to_give_up(event.view);
  if (why_ != Why::none) return {.what = Do::pass_on, .why = why_};
  const Instant again =
      base::mutant("core.asks_once") ? never : schedule_->next(event.progress, event.in_trouble);
  if (now >= again) return does(Do::ask_again);
  Instant until = std::min(until_, again);
  if (until_ == never && trouble_since_ && plan_.give_up > Nanos(0)) {
    until = std::min(until, *trouble_since_ + plan_.give_up);
  }
  return {.what = Do::await, .until = until};
}

Acquire::Action Acquire::step(const AskedAgain& event) noexcept {
  schedule_->asked(event.now, trouble_since_.has_value());
  return does(Do::check);
}

Acquire::Why Acquire::reason_to_give_up(const View& view) const noexcept {
  const Why why = reason_to_leave(view);
  if (why != Why::none || until_ != never || plan_.give_up <= Nanos(0) || !trouble_since_) {
    return why;
  }
  return view.now - *trouble_since_ >= plan_.give_up ? Why::timeout : Why::none;
}

void Acquire::note_trouble(bool in_trouble, Instant now) noexcept {
  if (!in_trouble) {
    trouble_since_.reset();
  } else if (!trouble_since_) {
    trouble_since_ = now;
  }
}

void Acquire::inherit(std::optional<Instant> trouble_since) noexcept {
  // A caller's trouble is counted from its arrival.
  if (trouble_since) trouble_since_ = std::max(*trouble_since, plan_.began);
}

Acquire::Action Acquire::step(Decided event) noexcept {
  if (event == Decided::granted) return does(Do::accept);
  if (event == Decided::failed) return leaves(End::failed);
  if (event == Decided::recorded) return leaves(End::recorded);
  return {.what = Do::leave, .end = End::contended, .why = Why::timeout};
}

Acquire::Action Acquire::step(const Accepted& event) noexcept {
  switch (event.as) {
    case Accepted::As::hold: return ends(End::granted);
    case Accepted::As::closed: return leaves(End::closed);
    case Accepted::As::nonsense: return leaves(End::nonsense);
    case Accepted::As::late: break;
  }
  // The answer took longer than the lease, or was overtaken by the end of the hold: there is
  // nothing to believe. It asks anew, as long as there is time.
  return reason_to_give_up(event.view) == Why::none ? does(Do::ask) : leaves(End::too_late);
}

Acquire::Action Acquire::step(const PassedOn& event) noexcept {
  if (event.to == PassedOn::To::itself) return does(Do::ask);
  if (event.to == PassedOn::To::nobody) return does(Do::take_back);
  // The successor answers for the attempt, so nothing is in doubt for this caller.
  if (why_ == Why::timeout && event.trouble) return ends(End::trouble);
  if (why_ == Why::timeout && !event.queued) return ends_unanswered(Do::end, event.now);
  return ends_waiting(Do::end);
}

Acquire::Action Acquire::step(const TakenBack& event) noexcept {
  if (event.granted) return does(Do::accept);
  if (event.recorded) return leaves(End::recorded);
  if (why_ != Why::timeout) return ends_waiting(Do::leave);
  // Sent, and neither answered nor known to be gone: whatever the trouble, that comes first.
  if (event.progress == Acquisition::Progress::sent && !event.gone) return leaves(End::in_doubt);
  if (event.trouble) return leaves(End::trouble);
  if (event.progress == Acquisition::Progress::queued) return ends_waiting(Do::leave);
  return ends_unanswered(Do::leave, event.now);
}

Acquire::Action Acquire::ends_unanswered(Do what, Instant now) const noexcept {
  // Others of this process held the name nearly until now: the server has not had its time.
  const Nanos asked_for = now - asks_since_;
  const bool kept_by_others = asks_since_ - plan_.began > asked_for;
  if (kept_by_others && asked_for < command_timeout(plan_.lease)) return ends_waiting(what);
  return {.what = what, .end = End::no_answer};
}

}  // namespace mortise::core
