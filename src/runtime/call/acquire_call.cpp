// SPDX-License-Identifier: MIT
// Each action of the machine: what is looked at under the slot's mutex, what is asked of the
// backend outside of it; then the course of a call, from one sleep to the next.
#include "runtime/call/acquire_call.hpp"

#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "core/figures.hpp"
#include "runtime/call/release_call.hpp"
#include "runtime/client/raise.hpp"
#include "runtime/hold/renewal_batch.hpp"
#include "runtime/hold/slot.hpp"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

namespace mortise::runtime {
namespace {

/// 0 to 1, evenly spread over the holds of a client.
double spread_of(std::uint64_t generation) noexcept { return base::SplitMix(generation).unit(); }

/// A caller finds a shared hold. If there is no memory here, the next turn asks instead. The caller
/// has its hold already.
/// @return a renewal that asks whether others wait, if it is time
std::shared_ptr<RenewalBatch> news_locked(Slot& slot, const AcquireCall& caller,
                                          core::NameState::Entry entry, Instant now) noexcept {
  std::shared_ptr<RenewalBatch> news;
  const bool came = entry != core::NameState::Entry::reentered;
  HoldKeeper& keeper = slot.keeper(Mode::shared);
  try {
    if (came && caller.shares()) keeper.newcomer_locked(now, news);
    if (entry == core::NameState::Entry::wait) keeper.look_after_waiters_locked(now);
  } catch (const std::exception&) {
    news = nullptr;
  }
  return news;
}

/// The name has others to serve: nobody of this client need be waiting for anything.
void look_for_others(StoreAccess& store, const std::shared_ptr<RenewalBatch>& news) noexcept {
  try {
    store.backend().renew(news);
    if (!base::mutant("core.news_lies_unread")) store.engine().have_replies_read();
  } catch (const std::exception&) {
    // As if it was lost on its way.
  }
}

void run_begins_locked(Slot& slot, AcquireCall& call, core::Hold&& hold, std::uint64_t run) {
  KeyTalk& key = *slot.key;
  KeyCall& asked = *call.key();
  key.run = run;
  key.begun_by = asked.begun_by;
  std::shared_ptr<const Record> known;
  if (!slot.state.queue().empty()) known = key.record_of_run(hold.number);
  asked.hold = slot.hold_id(hold);
  asked.lease = hold.lease.wanted();
  asked.run = run;
  slot.granted_locked(call, std::move(hold));
  // A caller with another fingerprint would wait for nothing.
  if (known) slot.tell_locked({.record = std::move(known), .asked_at = key.arrivals});
}

/// @return whether that caller may go on with the attempt of this one.
bool may_hand_locked(const Slot& slot, const AcquireCall& from, const AcquireCall& to) noexcept {
  // Beside the hold of this owner, only this owner may be granted anything.
  if (!to.terms->agrees_with(*from.terms) || from.attempt_locked()->request().beside) return false;
  return !slot.key ||
         (to.key()->arrival <= slot.key->asked_at && to.key()->agrees_with(*from.key()));
}

}  // namespace

AcquireCall::AcquireCall(Slot& slot, const std::shared_ptr<const core::Terms>& asked,
                         const AcquireOptions& options, KeyCall* key, Queueing queueing,
                         Grace& grace, Waker* waker)
    : slot_(slot),
      options_(options),
      key_(key),
      machine_({.began = slot.client().now(),
                .wait = options.wait,
                .give_up = slot.client().options().give_up,
                .lease = asked->lease,
                .queues = queueing == Queueing::joins}),
      now_(machine_.began()),
      grace_(grace),
      own_(slot, waker),
      report_(slot, *this, queueing == Queueing::joins) {
  owner = options.owner.or_this_thread();
  terms = asked;
  if (!slot.client().alive()) {
    action_ = {.what = Machine::Do::end, .end = Machine::End::closed};
    return;
  }
  if (!options.stop.stop_possible()) return;
  stop_.callback.emplace(options.stop, [this] {
    // In a forked child the waiting thread does not exist, and its mutex may be locked for ever.
    if (slot_.client().forked()) return;
    stop_.requested.store(true);
    const Slot::Lock lock(slot_.mutex);
    Slot::wake_locked(this);
  });
}

const std::atomic<std::uint32_t>* AcquireCall::mark_locked() noexcept {
  own_.poke_locked();
  if (own_.waker() == nullptr) return &rest_.parker.mark();
  own_.waker()->wake();
  return nullptr;
}

void AcquireCall::inherit_locked(std::shared_ptr<Attempt> attempt,
                                 std::optional<Instant> trouble_since) {
  own_.inherit_locked(std::move(attempt));
  machine_.inherit(trouble_since);
}

AcquireCall::Action AcquireCall::carry_out(const Action& action) {
  switch (action.what) {
    case Machine::Do::enter: return enter();
    case Machine::Do::park:  // it was woken
    case Machine::Do::look: return look();
    case Machine::Do::take_over: return take_over();
    case Machine::Do::begin: return begin();
    case Machine::Do::ask: return ask();
    case Machine::Do::ask_again:
      own_.ask_again(now_);
      return machine_.step(Machine::AskedAgain{now_});
    case Machine::Do::await: return check(true);
    case Machine::Do::check: return check(false);
    case Machine::Do::settle: return settle();
    case Machine::Do::accept: return accept();
    case Machine::Do::pass_on: return pass_on(action.why);
    case Machine::Do::take_back: return take_back();
    case Machine::Do::leave: leave(); break;
    case Machine::Do::end: break;
  }
  return {.what = Machine::Do::end, .end = action.end, .why = action.why};
}

AcquireCall::Machine::View AcquireCall::view() const noexcept {
  return {.now = now_,
          .alive = slot_.client().alive(),
          .stopped = stop_.requested.load() || grace_.is_given_up()};
}

AcquireCall::Action AcquireCall::enter() {
  core::NameState::Entry entry{};
  std::shared_ptr<RenewalBatch> news;
  for (bool again = true; again;) {
    Aftermath after(slot_);
    const Slot::Lock lock(slot_.mutex);
    if (slot_.expire_locked(now_, after)) continue;
    entry = slot_.state.enter(*this, machine_.may_wait(), now_, slot_.client().turn());
    if (slot_.state.sharers() != nullptr) news = news_locked(slot_, *this, entry, now_);
    if (entry == core::NameState::Entry::busy) report_.learn_from_locked(slot_.requester_locked());
    if (entry == core::NameState::Entry::ask) begin_attempt_locked();
    if (entry == core::NameState::Entry::differs) report_.permits = slot_.state.permits();
    if (key_ != nullptr && entry == core::NameState::Entry::wait) {
      key_->arrival = ++slot_.key->arrivals;
    }
    if (key_ != nullptr) key_->busy_here = entry == core::NameState::Entry::busy;
    // Busy with the release of a hold whose end it has just found itself: that leaves with `after`.
    again = entry == core::NameState::Entry::busy && after.tell_server;
  }
  if (news) look_for_others(slot_.client().store(), news);
  const bool waits = entry == core::NameState::Entry::wait;
  if (waits && machine_.until() != never) slot_.client().store().watch_for_suspend();
  return machine_.step(Machine::Entered{entry, report_.trouble.has_value()});
}

AcquireCall::Action AcquireCall::look() {
  rest_.seen = rest_.parker.ticket();
  now_ = slot_.client().now();
  const Machine::Why why = machine_.reason_to_leave(view());
  Wakeup mine = Wakeup::none;
  {
    const Slot::Lock lock(slot_.mutex);
    mine = wakeup;
    if (mine == Wakeup::none && why != Machine::Why::none) {
      report_.learn_from_locked(slot_.requester_locked());
      slot_.leaves_locked(*this);
    }
  }
  return machine_.step(Machine::Turn{mine, why, report_.trouble.has_value()});
}

AcquireCall::Action AcquireCall::take_over() {
  // This thread may have slept through the end of the hold that it was passed.
  now_ = slot_.client().now();
  bool stands = false;
  {
    Aftermath after(slot_);
    const Slot::Lock lock(slot_.mutex);
    HoldKeeper& keeper = slot_.keeper(terms->mode);
    keeper.expire_locked(now_, after);
    stands = slot_.state.held_by(owner, terms->mode) != nullptr ||
             base::mutant("core.sleeper_believes") || base::mutant("core.expired_hold_is_passed");
    if (!stands) {
      // The caller never knew of it, and so owes no unlock for it.
      slot_.state.unlock(owner, now_, slot_.client().turn(), terms->mode);
      keeper.unpin_if_idle_locked(after);
      wakeup = Wakeup::none;
    }
  }
  return machine_.step(Machine::Passed{stands, {.now = now_, .alive = slot_.client().alive()}});
}

AcquireCall::Action AcquireCall::begin() {
  // Counted first, then looked: close() sets its mark first, then waits for those who are counted.
  own_.count();
  // By the clock as it arrived, or was called: what follows is asked for again too soon, if
  // anything.
  const Machine::View seen = view();
  Failure& failure = report_.failure;
  failure = seen.alive ? slot_.client().store().prepare(*terms) : slot_.client().closed_failure();
  if (failure && own_.asked()) slot_.client().store().abandon(own_.get());
  return machine_.step(Machine::Begun{.may_ask = !failure, .asked = own_.asked(), .view = seen});
}

void AcquireCall::begin_attempt_locked() {
  // A reader asks while a hold is live only where that is its own, exclusive one.
  const core::Hold* const own = slot_.state.live();
  const bool beside = own != nullptr && own->owner == owner && terms->mode == Mode::shared;
  own_.begin_locked(*terms, machine_.may_wait(), key_ != nullptr ? key_->memory : nullptr,
                    beside ? std::optional(own->attempt) : std::nullopt);
}

AcquireCall::Action AcquireCall::ask() {
  if (!own_) {
    const Slot::Lock lock(slot_.mutex);
    begin_attempt_locked();
  }
  return machine_.step(own_.ask(now_));
}

AcquireCall::Action AcquireCall::check(bool woken) {
  rest_.seen = own_->signal();
  Machine::Standing standing{.done = own_->done()};
  // What is decided is settled whatever the time; a grant is looked at by a later clock than this.
  // A thread that has just sent the request need not read it again: the engine sleeps until a
  // moment. A call without a thread may be stepped long after it came, and a store that blocks its
  // callers has spent some of their time.
  const bool reads =
      woken || own_.waker() != nullptr || slot_.client().store().backend().needs_waiting_threads();
  if (reads && !standing.done) now_ = slot_.client().now();
  standing.view = view();
  standing.in_trouble = own_->in_trouble();
  standing.progress = own_->progress();
  return machine_.step(standing);
}

AcquireCall::Action AcquireCall::settle() {
  const Machine::Decided decided = own_.decided();
  if (decided == Machine::Decided::busy) report_.holder = own_->holder();
  if (decided == Machine::Decided::recorded) key_->record = own_->record();
  return machine_.step(decided);
}

AcquireCall::Action AcquireCall::accept() {
  using As = Machine::Accepted::As;
  Grant grant = own_->grant();
  now_ = slot_.client().now();
  const Machine::View seen = view();
  if (base::mutant("core.lease_from_the_reply")) grant.counted_from = now_;
  core::Hold hold{.owner = owner,
                  .attempt = own_->request().attempt,
                  .number = grant.number,
                  .generation = slot_.client().numbers().next_generation(),
                  .granted_at = now_,
                  .owned_since = now_,
                  .terms = terms};
  hold.lease = core::Lease(*terms, grant, slot_.client().store().safety_margin(), now_,
                           spread_of(hold.generation));
  const bool counted = key_ == nullptr || grant.run > 0;
  As as = grant.number < core::grant_number_limit && counted ? As::hold : As::nonsense;
  const bool late =
      hold.lease.valid_for(now_) == core::Nanos(0) && !base::mutant("core.late_grant_is_believed");
  {
    const Slot::Lock lock(slot_.mutex);
    // The answer to a request was held up, and the message of an administrator's force was quicker:
    // without that the hold would be believed until its first renewal (S8).
    const bool taken =
        slot_.was_taken_away_locked(hold) && !base::mutant("core.forget_what_is_taken");
    if (as == As::hold && (late || taken)) as = As::late;
    // Asked under the mutex: close() sets its mark first and then visits each slot.
    if (!slot_.client().alive()) as = As::closed;
    if (as == As::hold && key_ != nullptr) {
      run_begins_locked(slot_, *this, std::move(hold), grant.run);
    } else if (as == As::hold) {
      slot_.granted_locked(*this, std::move(hold));
    }
    if (as == As::hold) own_.forget_locked();
  }
  if (as != As::hold) slot_.client().store().undo(*own_);
  if (as == As::late) {
    const Slot::Lock lock(slot_.mutex);
    own_.forget_locked();
  }
  return machine_.step(Machine::Accepted{as, seen});
}

AcquireCall::Action AcquireCall::pass_on(Machine::Why why) {
  using To = Machine::PassedOn::To;
  Machine::PassedOn event;
  report_.trouble = own_->trouble();
  event.trouble = report_.trouble.has_value();
  event.queued = own_->progress() == Acquisition::Progress::queued;
  // Without a time limit only trouble ends the wait; it has passed just now.
  const bool well = machine_.until() == never && why == Machine::Why::timeout && !report_.trouble;
  {
    const Slot::Lock lock(slot_.mutex);
    AcquireCall* const successor = slot_.first_locked();
    if (well || own_->done()) {
      event.to = To::itself;
    } else if (successor != nullptr && machine_.may_wait() && slot_.client().alive() &&
               may_hand_locked(slot_, *this, *successor)) {
      // The place in the server's queue goes to the next thread of this process.
      event.to = To::successor;
      report_.holder = own_->holder();
      successor->inherit_locked(own_.give_locked(), machine_.trouble_since());
      slot_.state.leave(*this);
      if (!base::mutant("core.successor_is_not_told")) slot_.serve_locked();
    }
  }
  event.now = slot_.client().now();
  return machine_.step(event);
}

AcquireCall::Action AcquireCall::take_back() {
  Machine::TakenBack event = own_.taken_back();
  event.trouble = report_.trouble.has_value();
  report_.holder = own_->holder();
  if (event.recorded) key_->record = own_->record();
  event.gone = own_->done();
  event.now = slot_.client().now();
  return machine_.step(event);
}

void AcquireCall::leave() {
  const Slot::Lock lock(slot_.mutex);
  if (key_ != nullptr && key_->record) {
    slot_.tell_locked(
        {.record = key_->record, .asked_at = slot_.key->asked_at, .whole = key_->told_the_bytes()});
  }
  slot_.leaves_locked(*this);
}

void AcquireCall::forsake() {
  std::shared_ptr<Attempt> attempt;
  bool passed = false;
  {
    const Slot::Lock lock(slot_.mutex);
    attempt = own_.give_locked();
    // The name may have been passed to it while it failed; its caller never learns of that.
    passed = wakeup == Wakeup::held;
    if (!passed) slot_.leaves_locked(*this);
  }
  base::OneByOne each;
  if (attempt && own_.asked()) each([&] { slot_.client().store().abandon(attempt); });
  // Whatever has failed, close() does not wait for a call that is over.
  if (own_.waker() != nullptr) own_.uncount();
  if (!passed) return each.finish();
  Failure misuse;
  const bool has_thread = own_.waker() == nullptr;
  ReleaseCall release(slot_, {.owner = owner, .mode = terms->mode, .is_reported = has_thread});
  if (!has_thread) release.hurry();
  release.run(misuse);
  each.finish();
}

Failure AcquireCall::run(std::optional<Holder>* holder) {
  while (advance()) {
    report_wait();
    sleep(core::Nanos::max());
  }
  return end(holder);
}

bool AcquireCall::advance() {
  // The observer of the wait may have forked. The child must not touch a mutex.
  if (slot_.client().forked()) action_ = {.what = Machine::Do::end, .end = Machine::End::closed};
  for (; action_.what != Machine::Do::end; action_ = carry_out(action_)) {
    const bool begins = !std::exchange(rest_.begun, true);
    switch (action_.what) {
      case Machine::Do::park:
      case Machine::Do::await: rest_.begun = begins; break;
      case Machine::Do::take_back:
        if (begins) own_.cancel();
        rest_.begun = !own_->done() && BootClock::now() < grace_.end();
        break;
      default: rest_.begun = false; break;
    }
    if (rest_.begun) return true;
  }
  // Its result may wait for a thread that closes the client.
  if (own_.waker() != nullptr) own_.uncount();
  return false;
}

// The observer's time is a part of the caller's time. The observer may have forked as well.
void AcquireCall::report_wait() noexcept {
  if (report_.waits() && !slot_.client().forked()) now_ = slot_.client().now();
}

core::Nanos AcquireCall::sleeps_for() noexcept {
  const bool by_real_time = action_.what == Machine::Do::take_back;
  return by_real_time ? grace_.end() - BootClock::now() : action_.until - now_;
}

void AcquireCall::sleep(core::Nanos at_most) {
  if (slot_.client().forked()) return;
  at_most = std::clamp(sleeps_for(), core::Nanos(0), std::max(at_most, core::Nanos(0)));
  if (action_.what == Machine::Do::park) {
    rest_.parker.park(rest_.seen, at_most);
  } else if (action_.what == Machine::Do::take_back) {
    slot_.client().store().wait_done(*own_, at_most);
  } else {
    if (base::mutant("core.signal_after_condition")) {
      const Slot::Lock lock(slot_.mutex);  // where a thread may be stopped
      rest_.seen = own_->signal();
    }
    slot_.client().store().wait(*own_, rest_.seen, at_most, now_);
  }
}

bool AcquireCall::holds() const noexcept {
  return action_.what == Machine::Do::end &&
         (action_.end == Machine::End::granted || action_.end == Machine::End::reentered);
}

Failure AcquireCall::end(std::optional<Holder>* holder, bool is_reported) {
  if (action_.end == Machine::End::failed) report_.failure = own_->failure();
  Failure failure = is_reported ? report_.tell(action_, now_) : report_.reason(action_);
  // An observer may have forked, and have come back in the child.
  if (!failure && slot_.client().forked()) failure = slot_.client().closed_failure();
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
  Grace own;
  AcquireCall call(slot, terms, options, key, Queueing::joins, grace != nullptr ? *grace : own);
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
