// SPDX-License-Identifier: MIT
// Each action of the machine in the calling thread: what is looked at under the slot's mutex, what
// is asked of the backend outside of it. When the thread sleeps in between is in
// acquire_course.cpp.
#include "runtime/acquire_call.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "runtime/release_call.hpp"
#include "runtime/renewal_batch.hpp"
#include "runtime/slot.hpp"

#include <exception>
#include <utility>

namespace mortise::runtime {
namespace {

/// 0 to 1, evenly spread over the holds of a client.
double spread_of(std::uint64_t generation) noexcept { return base::SplitMix(generation).unit(); }

}  // namespace

AcquireCall::AcquireCall(Slot& slot, const std::shared_ptr<const core::Terms>& asked,
                         const AcquireOptions& options, KeyCall* key, Queueing queueing,
                         Grace* grace)
    : slot_(slot),
      client_(slot.client()),
      options_(options),
      key_(key),
      machine_({.began = client_.now(),
                .wait = options.wait,
                .give_up = client_.options().give_up,
                .lease = asked->lease,
                .queues = queueing == Queueing::joins}),
      now_(machine_.began()),
      grace_(grace != nullptr ? *grace : own_grace_),
      own_(slot),
      report_(slot, *this, queueing == Queueing::joins) {
  owner = options.owner.or_this_thread();
  terms = asked;
}

void AcquireCall::inherit_locked(std::shared_ptr<Attempt> attempt,
                                 std::optional<Instant> trouble_since) {
  own_.inherit_locked(std::move(attempt));
  machine_.inherit(trouble_since);
}

const std::atomic<std::uint32_t>* AcquireCall::mark_locked() noexcept {
  own_.poke_locked();
  return &parker_.mark();
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
    case Machine::Do::await:  // it was woken
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
  return view_of_then();
}

AcquireCall::Machine::View AcquireCall::view_of_then() const noexcept {
  return {.now = now_, .alive = client_.alive(), .stopped = stopped_.load()};
}

AcquireCall::Action AcquireCall::enter() {
  core::NameState::Entry entry{};
  std::shared_ptr<RenewalBatch> news;
  for (bool again = true; again;) {
    Aftermath after(slot_);
    const Slot::Lock lock(slot_.mutex);
    if (slot_.expire_locked(now_, after)) continue;
    entry = slot_.state.enter(*this, machine_.may_wait(), now_, client_.turn());
    if (slot_.state.sharers() != nullptr) news = news_locked(entry);
    if (entry == core::NameState::Entry::busy) learn_from_requester_locked();
    if (entry == core::NameState::Entry::ask) begin_attempt_locked();
    if (entry == core::NameState::Entry::differs) report_.permits = slot_.state.permits();
    if (key_ != nullptr && entry == core::NameState::Entry::wait) {
      key_->arrival = ++slot_.key->arrivals;
    }
    if (key_ != nullptr) key_->busy_here = entry == core::NameState::Entry::busy;
    // Busy with the release of a hold whose end it has just found itself: that leaves with `after`.
    again = entry == core::NameState::Entry::busy && after.tell_server;
  }
  if (news) look_for_others(news);
  const bool waits = entry == core::NameState::Entry::wait;
  if (waits && machine_.until() != never) client_.watch_for_suspend();
  return machine_.step(Machine::Entered{entry, report_.trouble.has_value()});
}

// What fails here, out of memory, is asked for at the next turn: the caller has what it came for.
std::shared_ptr<RenewalBatch> AcquireCall::news_locked(core::NameState::Entry entry) noexcept {
  std::shared_ptr<RenewalBatch> news;
  const bool came = entry != core::NameState::Entry::reentered;
  HoldKeeper& keeper = slot_.keeper(Mode::shared);
  try {
    if (came && terms->mode == Mode::shared) keeper.newcomer_locked(now_, news);
    if (entry == core::NameState::Entry::wait) keeper.look_after_waiters_locked(now_);
  } catch (const std::exception&) {
    news = nullptr;
  }
  return news;
}

// Its own name has others to serve: nobody of this client need be waiting for anything.
void AcquireCall::look_for_others(const std::shared_ptr<RenewalBatch>& news) noexcept {
  try {
    client_.backend().renew(news);
    if (!base::mutant("core.news_lies_unread")) client_.have_answers_read();
  } catch (const std::exception&) {
    // As if it was lost on its way.
  }
}

// Whoever asks the server for all knows what is wrong, and who holds the name.
void AcquireCall::learn_from_requester_locked() {
  report_.trouble.reset();
  const AcquireCall* const requester = slot_.requester_locked();
  if (requester == nullptr || !requester->own_) return;
  report_.holder = requester->holder_locked();
  report_.trouble = requester->own_->trouble();
}

AcquireCall::Action AcquireCall::look() {
  seen_ = parker_.ticket();
  const Machine::Why why = machine_.reason_to_leave(view());
  Wakeup mine = Wakeup::none;
  {
    const Slot::Lock lock(slot_.mutex);
    mine = wakeup;
    if (mine == Wakeup::none && why != Machine::Why::none) {
      learn_from_requester_locked();
      slot_.leaves_locked(*this);
    }
  }
  return machine_.step(Machine::Turn{mine, why, report_.trouble.has_value()});
}

AcquireCall::Action AcquireCall::take_over() {
  // This thread may have slept through the end of the hold that it was passed.
  now_ = client_.now();
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
      slot_.state.unlock(owner, now_, client_.turn(), terms->mode);
      keeper.unpin_if_idle_locked(after);
      wakeup = Wakeup::none;
    }
  }
  return machine_.step(Machine::Passed{stands, {.now = now_, .alive = client_.alive()}});
}

AcquireCall::Action AcquireCall::begin() {
  // Counted first, then looked: close() sets its mark first, then waits for those who are counted.
  own_.count();
  // By the clock as it arrived, or was called: what follows is asked for again too soon, if
  // anything.
  const Machine::View seen = view_of_then();
  Failure& failure = report_.failure;
  failure = seen.alive ? client_.prepare(*terms) : client_.closed_failure();
  if (failure && own_.asked()) client_.abandon(own_.get());
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

AcquireCall::Action AcquireCall::check() {
  seen_ = own_->signal();
  Machine::Standing standing{.done = own_->done()};
  // What is decided is settled whatever the time; a grant is looked at by a later clock than this.
  standing.view = standing.done ? view_of_then() : view();
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
  Machine::View seen = view();
  if (base::mutant("core.lease_from_the_reply")) grant.counted_from = now_;
  core::Hold hold{.owner = owner,
                  .attempt = own_->request().attempt,
                  .number = grant.number,
                  .generation = client_.new_generation(),
                  .granted_at = now_,
                  .owned_since = now_,
                  .terms = terms};
  hold.lease =
      core::Lease(*terms, grant, client_.safety_margin(), now_, spread_of(hold.generation));
  const bool counted = key_ == nullptr || grant.run > 0;
  As as = grant.number < core::grant_number_limit && counted ? As::hold : As::nonsense;
  const bool late =
      hold.lease.valid_for(now_) == core::Nanos(0) && !base::mutant("core.late_grant_is_believed");
  {
    const Slot::Lock lock(slot_.mutex);
    // The answer to a request was held up, and the message of an administrator's force was quicker:
    // without that the hold would be believed until its first renewal (S8).
    const bool taken =
        own_->was_taken_away_locked(hold.number) && !base::mutant("core.forget_what_is_taken");
    if (as == As::hold && (late || taken)) as = As::late;
    // Asked under the mutex: close() sets its mark first and then visits each slot.
    if (!client_.alive()) as = As::closed;
    if (as == As::hold && key_ != nullptr) {
      run_begins_locked(std::move(hold), grant.run);
    } else if (as == As::hold) {
      slot_.granted_locked(*this, std::move(hold));
    }
    if (as == As::hold) own_.forget_locked();
  }
  if (as != As::hold) client_.undo(*own_);
  if (as == As::late) {
    const Slot::Lock lock(slot_.mutex);
    own_.forget_locked();
  }
  return machine_.step(Machine::Accepted{as, seen});
}

void AcquireCall::run_begins_locked(core::Hold&& hold, std::uint64_t run) {
  KeyTalk& key = *slot_.key;
  key.run = run;
  key.begun_by = key_->begun_by;
  std::shared_ptr<const Record> known;
  if (!slot_.state.queue().empty()) known = key.record_of_run(hold.number);
  key_->hold = slot_.hold_id(hold);
  key_->lease = hold.lease.wanted();
  key_->run = run;
  slot_.granted_locked(*this, std::move(hold));
  // Whoever waits with another fingerprint waits for nothing.
  if (known) slot_.tell_locked({.record = std::move(known), .asked_at = key.arrivals});
}

bool AcquireCall::may_hand_to(const AcquireCall& successor) const noexcept {
  // Beside the hold of this owner, only this owner may be granted anything.
  return successor.terms->agrees_with(*terms) && !own_->request().beside &&
         (key_ == nullptr ||
          (successor.key_->arrival <= slot_.key->asked_at && successor.key_->agrees_with(*key_)));
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
    } else if (successor != nullptr && machine_.may_wait() && client_.alive() &&
               may_hand_to(*successor)) {
      // The place in the server's queue goes to the next thread of this process.
      event.to = To::successor;
      report_.holder = own_->holder();
      successor->inherit_locked(own_.give_locked(), machine_.trouble_since());
      core::Waiter* const next = slot_.state.leave(*this);
      if (!base::mutant("core.successor_is_not_told")) Slot::wake_locked(next);
      slot_.wake_joined_locked();
    }
  }
  event.now = client_.now();
  return machine_.step(event);
}

AcquireCall::Action AcquireCall::take_back() {
  Machine::TakenBack event = own_.taken_back();
  event.trouble = report_.trouble.has_value();
  report_.holder = own_->holder();
  if (event.recorded) key_->record = own_->record();
  event.gone = own_->done();
  event.now = client_.now();
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
  if (attempt && own_.asked()) client_.abandon(attempt);
  if (!passed) return;
  Failure misuse;
  ReleaseCall(slot_, {.owner = owner, .mode = terms->mode}).run(misuse);
}

}  // namespace mortise::runtime
