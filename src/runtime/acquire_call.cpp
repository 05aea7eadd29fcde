// SPDX-License-Identifier: MIT
// Each action of the machine in the calling thread: what is looked at under the slot's mutex, what
// is asked of the backend outside of it, and what the caller is told in the end.
#include "runtime/acquire_call.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "runtime/slot.hpp"

#include <functional>
#include <stop_token>
#include <utility>

namespace mortise::runtime {
namespace {

/// 0 to 1, evenly spread over the holds of a client.
double spread_of(std::uint64_t generation) noexcept { return base::SplitMix(generation).unit(); }

Errc code_of(core::Acquire::Why why) noexcept {
  return why == core::Acquire::Why::cancelled ? Errc::cancelled : Errc::timeout;
}

}  // namespace

AcquireCall::AcquireCall(Slot& slot, const std::shared_ptr<const core::Terms>& asked,
                         const AcquireOptions& options)
    : slot_(slot),
      name_(slot.shared()),
      client_(slot.client()),
      options_(options),
      machine_({.began = client_.now(),
                .wait = options.wait,
                .give_up = client_.options().give_up,
                .lease = asked->lease}),
      now_(machine_.began()) {
  owner = options.owner.or_this_thread();
  terms = asked;
}

AcquireCall::~AcquireCall() {
  if (successor_) client_.closing().successor_goes();
}

void AcquireCall::inherit_locked(std::shared_ptr<Attempt> attempt,
                                 std::optional<Instant> trouble_since) {
  attempt_ = std::move(attempt);
  asked_ = true;
  if (!std::exchange(successor_, true)) client_.closing().successor_comes();
  machine_.inherit(trouble_since);
}

AcquireCall* AcquireCall::of(core::Waiter* waiter) noexcept {
  // Every waiter of a slot is a call.
  return static_cast<AcquireCall*>(waiter);
}

AcquireCall* AcquireCall::requester_locked(const core::NameState& state) noexcept {
  return of(state.requester());
}

AcquireCall* AcquireCall::first_locked(const core::NameState& state) noexcept {
  return state.queue().empty() ? nullptr : of(state.queue().front());
}

void AcquireCall::wake_locked(core::Waiter* waiter) noexcept {
  if (waiter != nullptr) of(waiter)->wake_locked();
}

void AcquireCall::wake_reentered_locked(core::NameState& state) noexcept {
  while (core::Waiter* const waiter = state.reenter_waiter()) wake_locked(waiter);
}

const std::atomic<std::uint32_t>* AcquireCall::mark_locked() noexcept {
  if (attempt_) attempt_->poke();
  return &parker_.mark();
}

Failure AcquireCall::run() {
  if (!client_.alive()) return client_.closed_failure();
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
  if (options_.stop.stop_possible()) {
    on_stop.emplace(options_.stop, [this] {
      // In a forked child the waiting thread does not exist, and its mutex may be locked for ever.
      if (client_.forked()) return;
      stopped_.store(true);
      const SharedName::Lock lock(name_.mutex);
      wake_locked();
    });
  }
  Action action = Machine::start();
  while (action.what != Machine::Do::end) action = carry_out(action);
  return ends(action);
}

AcquireCall::Action AcquireCall::carry_out(const Action& action) {
  switch (action.what) {
    case Machine::Do::enter: return enter();
    case Machine::Do::park: parker_.park(seen_, action.until - now_); return look();
    case Machine::Do::look: return look();
    case Machine::Do::take_over: return take_over();
    case Machine::Do::begin: return begin();
    case Machine::Do::ask: return ask();
    case Machine::Do::ask_again:
      client_.backend().acquire(attempt_);
      attempt_->asked(now_);
      return machine_.step(Machine::AskedAgain{now_});
    case Machine::Do::await:
      if (base::mutant("core.signal_after_condition")) {
        const SharedName::Lock lock(name_.mutex);  // where a thread may be stopped
        seen_ = attempt_->signal();
      }
      client_.wait(*attempt_, seen_, action.until - now_);
      return check();
    case Machine::Do::check: return check();
    case Machine::Do::settle: return settle();
    case Machine::Do::accept: return accept();
    case Machine::Do::pass_on: return pass_on(action.why);
    case Machine::Do::take_back: return take_back();
    case Machine::Do::leave: leave(); break;
    case Machine::Do::end: break;
  }
  return {.what = Machine::Do::end, .end = action.end, .why = action.why};
}

AcquireCall::Machine::View AcquireCall::view() noexcept {
  now_ = client_.now();
  return {.now = now_, .alive = client_.alive(), .stopped = stopped_.load()};
}

AcquireCall::Action AcquireCall::enter() {
  core::NameState::Entry entry{};
  for (bool again = true; again;) {
    Aftermath after(name_);
    const SharedName::Lock lock(name_.mutex);
    slot_.keeper().expire_locked(now_, after);
    entry = name_.state.enter(*this, machine_.may_wait());
    if (entry == core::NameState::Entry::busy) learn_from_requester_locked();
    if (entry == core::NameState::Entry::ask) begin_attempt_locked();
    // Busy with the release of a hold whose end it has just found itself: that leaves with `after`.
    again = entry == core::NameState::Entry::busy && after.tell_server;
  }
  const bool waits = entry == core::NameState::Entry::wait;
  if (waits && machine_.until() != never) client_.watch_for_suspend();
  return machine_.step(Machine::Entered{entry, trouble_.has_value()});
}

void AcquireCall::begin_attempt_locked() {
  attempt_ = name_.new_attempt(*terms, machine_.may_wait());
  asked_ = false;
}

// Whoever asks the server for all knows what is wrong, and who holds the name.
void AcquireCall::learn_from_requester_locked() {
  trouble_.reset();
  const auto* const requester = requester_locked(name_.state);
  if (requester == nullptr || !requester->attempt_) return;
  holder_ = requester->attempt_->holder();
  trouble_ = requester->attempt_->trouble();
}

AcquireCall::Action AcquireCall::look() {
  seen_ = parker_.ticket();
  const Machine::Why why = machine_.reason_to_leave(view());
  Wakeup mine = Wakeup::none;
  {
    const SharedName::Lock lock(name_.mutex);
    mine = wakeup;
    if (mine == Wakeup::none && why != Machine::Why::none) {
      learn_from_requester_locked();
      wake_locked(name_.state.leave(*this));
    }
  }
  return machine_.step(Machine::Turn{mine, why, trouble_.has_value()});
}

AcquireCall::Action AcquireCall::take_over() {
  // This thread may have slept through the end of the hold that it was passed.
  now_ = client_.now();
  bool stands = false;
  {
    Aftermath after(name_);
    const SharedName::Lock lock(name_.mutex);
    slot_.keeper().expire_locked(now_, after);
    const core::Hold* const live = name_.state.live();
    stands = (live != nullptr && live->owner == owner) || base::mutant("core.sleeper_believes") ||
             base::mutant("core.expired_hold_is_passed");
    if (!stands) {
      // The caller never knew of it, and so owes no unlock for it.
      name_.state.unlock(owner, now_, client_.turn());
      slot_.keeper().unpin_if_idle_locked(after);
      wakeup = Wakeup::none;
    }
  }
  return machine_.step(Machine::Passed{stands, {.now = now_, .alive = client_.alive()}});
}

AcquireCall::Action AcquireCall::begin() {
  // Counted first, then looked: close() sets its mark first, then waits for those who are counted.
  asking_.emplace(client_.closing().askers());
  const Machine::View seen = view();
  failure_ = seen.alive ? client_.prepare(*terms) : client_.closed_failure();
  if (failure_ && asked_) client_.abandon(attempt_);
  return machine_.step(Machine::Begun{.may_ask = !failure_, .asked = asked_, .view = seen});
}

AcquireCall::Action AcquireCall::ask() {
  if (!attempt_) {
    const SharedName::Lock lock(name_.mutex);
    begin_attempt_locked();
  }
  if (!std::exchange(asked_, true)) client_.backend().acquire(attempt_);
  const AttemptId& id = attempt_->request().attempt;
  return machine_.step(
      Machine::Asked{.last = attempt_->asked_last(now_), .seed = id.client_low + id.sequence});
}

AcquireCall::Action AcquireCall::check() {
  seen_ = attempt_->signal();
  Machine::Standing standing{.view = view()};
  standing.done = attempt_->done();
  standing.in_trouble = attempt_->in_trouble();
  standing.progress = attempt_->progress();
  return machine_.step(standing);
}

AcquireCall::Action AcquireCall::settle() {
  if (attempt_->failure()) return machine_.step(Machine::Decided::failed);
  if (attempt_->grant().number != 0) return machine_.step(Machine::Decided::granted);
  holder_ = attempt_->holder();
  return machine_.step(Machine::Decided::busy);
}

AcquireCall::Action AcquireCall::accept() {
  using As = Machine::Accepted::As;
  Grant grant = attempt_->grant();
  Machine::View seen = view();
  if (base::mutant("core.lease_from_the_reply")) grant.counted_from = now_;
  core::Hold hold{.owner = owner,
                  .attempt = attempt_->request().attempt,
                  .number = grant.number,
                  .generation = client_.new_generation(),
                  .granted_at = now_,
                  .owned_since = now_,
                  .terms = terms};
  hold.lease =
      core::Lease(*terms, grant, client_.safety_margin(), now_, spread_of(hold.generation));
  As as = grant.number < core::grant_number_limit ? As::hold : As::nonsense;
  const bool late =
      hold.lease.valid_for(now_) == core::Nanos(0) && !base::mutant("core.late_grant_is_believed");
  {
    const SharedName::Lock lock(name_.mutex);
    // The answer to a request was held up, and the message of an administrator's force was quicker:
    // without that the hold would be believed until its first renewal (S8).
    const bool taken =
        slot_.keeper().taken_away_locked(hold) && !base::mutant("core.forget_what_is_taken");
    if (as == As::hold && (late || taken)) as = As::late;
    // Asked under the mutex: close() sets its mark first and then visits each slot.
    if (!client_.alive()) as = As::closed;
    if (as == As::hold) slot_.granted_locked(*this, std::move(hold));
    if (as == As::hold) attempt_.reset();
  }
  if (as != As::hold) client_.undo(*attempt_);
  if (as == As::late) {
    const SharedName::Lock lock(name_.mutex);
    attempt_.reset();
  }
  return machine_.step(Machine::Accepted{as, seen});
}

AcquireCall::Action AcquireCall::pass_on(Machine::Why why) {
  using To = Machine::PassedOn::To;
  Machine::PassedOn event;
  trouble_ = attempt_->trouble();
  event.trouble = trouble_.has_value();
  event.queued = attempt_->progress() == Acquisition::Progress::queued;
  // Without a time limit only trouble ends the wait; it has passed just now.
  const bool well = machine_.until() == never && why == Machine::Why::timeout && !trouble_;
  {
    const SharedName::Lock lock(name_.mutex);
    AcquireCall* const successor = first_locked(name_.state);
    if (well || attempt_->done()) {
      event.to = To::itself;
    } else if (successor != nullptr && machine_.may_wait() && client_.alive() &&
               successor->terms->agrees_with(*terms)) {
      // The place in the server's queue goes to the next thread of this process.
      event.to = To::successor;
      holder_ = attempt_->holder();
      successor->inherit_locked(std::exchange(attempt_, nullptr), machine_.trouble_since());
      core::Waiter* const next = name_.state.leave(*this);
      if (!base::mutant("core.successor_is_not_told")) wake_locked(next);
    }
  }
  event.now = client_.now();
  return machine_.step(event);
}

AcquireCall::Action AcquireCall::take_back() {
  const bool cancels = !base::mutant("core.leaves_its_place_in_the_queue");
  Machine::TakenBack event{.trouble = trouble_.has_value(), .progress = attempt_->progress()};
  if (cancels) client_.backend().cancel(attempt_);
  if (client_.wait_done(*attempt_, core::grace) || !attempt_->abandon()) {
    event.granted = attempt_->grant().number != 0;
  } else if (cancels) {
    client_.adopt(attempt_);
  }
  holder_ = attempt_->holder();
  event.gone = attempt_->done();
  event.now = client_.now();
  return machine_.step(event);
}

void AcquireCall::leave() {
  const SharedName::Lock lock(name_.mutex);
  wake_locked(name_.state.leave(*this));
}

void AcquireCall::forsake() {
  std::shared_ptr<Attempt> attempt;
  bool passed = false;
  {
    const SharedName::Lock lock(name_.mutex);
    attempt = std::move(attempt_);
    // The name may have been passed to it while it failed; its caller never learns of that.
    passed = wakeup == Wakeup::held;
    if (!passed) wake_locked(name_.state.leave(*this));
  }
  if (attempt && asked_) client_.abandon(attempt);
  Failure misuse;
  if (passed) slot_.release(owner, misuse);
}

Failure AcquireCall::ends(const Action& action) {
  switch (action.end) {
    case Machine::End::reentered: return {};
    case Machine::End::granted: tell_granted(); return {};
    case Machine::End::lost: return {Errc::lost, name_.name + ": unlock the lost hold first"};
    case Machine::End::closed: return client_.closed_failure();
    case Machine::End::cannot_ask: return failure_;
    case Machine::End::failed: return attempt_->failure();
    case Machine::End::contended: return contended(code_of(action.why));
    case Machine::End::trouble: return *trouble_;
    case Machine::End::no_answer: return no_answer(Errc::unavailable);
    case Machine::End::in_doubt:
      return trouble_ ? Failure(Errc::in_doubt, trouble_->text) : no_answer(Errc::in_doubt);
    case Machine::End::nonsense:
      return {Errc::protocol, name_.name + ": grant number out of range"};
    case Machine::End::too_late: break;
  }
  return {Errc::unavailable, name_.name + ": grants arrive after their lease has ended"};
}

Failure AcquireCall::no_answer(Errc code) {
  return {code, client_.backend().describe() + ": no answer in time"};
}

Failure AcquireCall::contended(Errc code) {
  if (Observer* const observer = client_.observer(); observer != nullptr) {
    observer->contended({.name = name_.name, .label = terms->label});
  }
  return {code, name_.name};
}

void AcquireCall::tell_granted() {
  Observer* const observer = client_.observer();
  if (observer == nullptr) return;
  observer->granted({.name = name_.name,
                     .label = terms->label,
                     .token = slot_.token(owner),
                     .took = now_ - machine_.began()});
}

}  // namespace mortise::runtime
