// SPDX-License-Identifier: MIT
#include "runtime/acquire_call.hpp"

#include "base/mutant.hpp"
#include "core/ask_schedule.hpp"
#include "core/figures.hpp"
#include "runtime/slot.hpp"

#include <algorithm>
#include <functional>
#include <stop_token>
#include <utility>

namespace mortise::runtime {
namespace {

Instant end_of(Instant began, std::chrono::nanoseconds wait) noexcept {
  return wait >= never - began ? never : began + wait;
}

/// 0 to 1, evenly spread over the holds of a client.
double spread_of(std::uint64_t generation) noexcept { return base::SplitMix(generation).unit(); }

}  // namespace

AcquireCall::AcquireCall(Slot& slot, const std::shared_ptr<const core::Terms>& asked,
                         const AcquireOptions& options)
    : slot_(slot),
      client_(slot.client()),
      options_(options),
      began_(client_.now()),
      may_wait_(options.wait > std::chrono::nanoseconds(0)),
      until_(end_of(began_, may_wait_ ? options.wait : core::command_timeout(asked->lease))) {
  owner = options.owner.or_this_thread();
  terms = asked;
}

AcquireCall::~AcquireCall() {
  if (successor_) client_.successor_goes();
}

void AcquireCall::inherit_locked(std::shared_ptr<Attempt> attempt,
                                 std::optional<Instant> trouble_since) {
  attempt_ = std::move(attempt);
  asked_ = true;
  if (!std::exchange(successor_, true)) client_.successor_comes();
  // A caller's trouble is counted from its arrival.
  if (trouble_since) trouble_since_ = std::max(*trouble_since, began_);
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
      const Slot::Lock lock(slot_.mutex_);
      wake_locked();
    });
  }
  return arrive(began_);
}

Failure AcquireCall::arrive(Instant now) {
  core::NameState::Entry entry{};
  std::optional<Failure> trouble;
  for (bool again = true; again;) {
    Slot::Aftermath after(slot_);
    const Slot::Lock lock(slot_.mutex_);
    slot_.expire_locked(now, after);
    entry = slot_.state_.enter(*this, may_wait_);
    if (entry == core::NameState::Entry::busy) trouble = learn_from_requester_locked();
    if (entry == core::NameState::Entry::ask) begin_attempt_locked();
    // Busy with the release of a hold whose end it has just found itself: that leaves with `after`.
    again = entry == core::NameState::Entry::busy && after.tell_server;
  }
  switch (entry) {
    case core::NameState::Entry::reentered: return {};
    case core::NameState::Entry::lost:
      return {Errc::lost, slot_.name() + ": unlock the lost hold first"};
    case core::NameState::Entry::busy:
      return trouble ? *trouble : contended({Errc::timeout, slot_.name()});
    case core::NameState::Entry::ask: return ask();
    case core::NameState::Entry::wait: break;
  }
  return wait_for_turn();
}

Failure AcquireCall::wait_for_turn() {
  if (until_ != never) client_.watch_for_suspend();
  for (;;) {
    const std::uint32_t ticket = parker_.ticket();
    const Instant now = client_.now();
    const std::optional<Failure> why = reason_to_leave(now);
    std::optional<Failure> trouble;
    Wakeup mine = Wakeup::none;
    {
      const Slot::Lock lock(slot_.mutex_);
      mine = wakeup;
      if (mine == Wakeup::none && why) {
        trouble = learn_from_requester_locked();
        Slot::wake_locked(slot_.state_.leave(*this));
      }
    }
    if (mine == Wakeup::held) return take_over();
    if (mine == Wakeup::ask) return ask();
    if (why) return why->code == Errc::timeout && trouble ? *trouble : contended(*why);
    parker_.park(ticket, until_ - now);
  }
}

Failure AcquireCall::take_over() {
  // This thread may have slept through the end of the hold that it was passed.
  const Instant now = client_.now();
  bool stands = false;
  {
    Slot::Aftermath after(slot_);
    const Slot::Lock lock(slot_.mutex_);
    slot_.expire_locked(now, after);
    const core::Hold* const live = slot_.state_.live();
    stands = (live != nullptr && live->owner == owner) || base::mutant("core.sleeper_believes") ||
             base::mutant("core.expired_hold_is_passed");
    if (!stands) {
      // The caller never knew of it, and so owes no unlock for it.
      slot_.state_.unlock(owner, now, client_.turn());
      slot_.unpin_if_idle_locked(after.unpinned);
      wakeup = Wakeup::none;
    }
  }
  if (stands) {
    tell_granted(now);
    return {};
  }
  return client_.alive() ? arrive(now) : client_.closed_failure();
}

std::optional<Failure> AcquireCall::learn_from_requester_locked() {
  // Whoever asks the server for all knows what is wrong, and who holds the name.
  const auto* const requester = static_cast<const AcquireCall*>(slot_.state_.requester());
  if (requester == nullptr || !requester->attempt_) return std::nullopt;
  holder_ = requester->attempt_->holder();
  return requester->attempt_->trouble();
}

std::optional<Failure> AcquireCall::reason_to_leave(Instant now) {
  if (!client_.alive()) return client_.closed_failure();
  if (stopped_.load()) return Failure(Errc::cancelled, slot_.name());
  if (now >= until_) return Failure(Errc::timeout, slot_.name());
  return std::nullopt;
}

std::optional<Failure> AcquireCall::reason_to_give_up(Instant now) {
  if (std::optional<Failure> reason = reason_to_leave(now)) return reason;
  const auto limit = client_.options().give_up;
  if (until_ == never && limit.count() > 0 && trouble_since_ && now - *trouble_since_ >= limit) {
    return Failure(Errc::timeout, slot_.name());  // the trouble becomes the reason
  }
  return std::nullopt;
}

Failure AcquireCall::ask() {
  asks_since_ = client_.now();
  const ClientState::Inside asking = client_.asking();
  // Counted first, then looked: close() sets its mark first, then waits for those who are counted.
  Failure failure = client_.alive() ? client_.prepare(*terms) : client_.closed_failure();
  if (failure) {
    if (asked_) client_.abandon(attempt_);
    leave();
    return failure;
  }
  if (stopped_.load() && !asked_) {
    // Asked to stop before anything was sent: nothing has to be taken back.
    leave();
    return contended({Errc::cancelled, slot_.name()});
  }
  for (;;) {
    if (!attempt_) {
      const Slot::Lock lock(slot_.mutex_);
      begin_attempt_locked();
    }
    if (!std::exchange(asked_, true)) client_.backend().acquire(attempt_);
    if (attempt_->done() || wait_for_answer()) {
      if (std::optional<Failure> outcome = settle()) return *outcome;
    } else if (std::optional<Failure> outcome = give_up()) {
      return *outcome;
    }
  }
}

void AcquireCall::begin_attempt_locked() {
  attempt_ = slot_.new_attempt(*terms, may_wait_);
  asked_ = false;
}

bool AcquireCall::wait_for_answer() {
  Instant now = client_.now();
  core::AskSchedule schedule(
      terms->lease, attempt_->asked_last(now),
      attempt_->request().attempt.client_low + attempt_->request().attempt.sequence);
  for (;; now = client_.now()) {
    std::uint32_t seen = attempt_->signal();
    if (attempt_->done()) return true;
    const bool in_trouble = attempt_->in_trouble();
    note_trouble(now, in_trouble);
    if ((why_ = reason_to_give_up(now))) return false;
    const Instant again =
        base::mutant("core.asks_once") ? never : schedule.next(attempt_->progress(), in_trouble);
    if (now >= again) {
      client_.backend().acquire(attempt_);
      attempt_->asked(now);
      schedule.asked(now, in_trouble);
      continue;
    }
    Instant wake = std::min(until_, again);
    if (until_ == never && trouble_since_ && client_.options().give_up.count() > 0) {
      wake = std::min(wake, *trouble_since_ + client_.options().give_up);
    }
    if (base::mutant("core.signal_after_condition")) {
      const Slot::Lock lock(slot_.mutex_);  // where a thread may be stopped
      seen = attempt_->signal();
    }
    client_.wait(*attempt_, seen, wake - now);
  }
}

void AcquireCall::note_trouble(Instant now, bool in_trouble) noexcept {
  if (!in_trouble) {
    trouble_since_.reset();
  } else if (!trouble_since_) {
    trouble_since_ = now;
  }
}

std::optional<Failure> AcquireCall::settle() {
  if (attempt_->failure()) {
    leave();
    return attempt_->failure();
  }
  if (attempt_->grant().number == 0) {
    holder_ = attempt_->holder();
    leave();
    return contended({Errc::timeout, slot_.name()});
  }
  return accept();
}

std::optional<Failure> AcquireCall::accept() {
  Grant grant = attempt_->grant();
  const Instant now = client_.now();
  if (base::mutant("core.lease_from_the_reply")) grant.counted_from = now;
  core::Hold hold{.owner = owner,
                  .attempt = attempt_->request().attempt,
                  .number = grant.number,
                  .generation = client_.new_generation(),
                  .granted_at = now,
                  .owned_since = now,
                  .terms = terms};
  hold.lease = core::Lease(*terms, grant, client_.safety_margin(), now, spread_of(hold.generation));
  const bool sane = grant.number < core::grant_number_limit;
  const bool late =
      hold.lease.valid_for(now) == core::Nanos(0) && !base::mutant("core.late_grant_is_believed");
  bool closed = false;
  {
    const Slot::Lock lock(slot_.mutex_);
    // Asked under the mutex: close() sets its mark first and then visits each slot.
    closed = !client_.alive();
    // The answer to a request was held up, and the message of an administrator's force was quicker:
    // without that the hold would be believed until its first renewal (S8).
    const bool taken = slot_.taken_away_locked(hold) && !base::mutant("core.forget_what_is_taken");
    if (!closed && !late && !taken && sane) {
      slot_.hold_granted_locked(*this, std::move(hold));
      attempt_.reset();
    }
  }
  if (!attempt_) {
    tell_granted(now);
    return Failure();
  }
  client_.undo(*attempt_);
  if (!closed && sane) {
    // The answer took longer than the lease, or was overtaken by the end of the hold: nothing to
    // believe. The loop asks anew, as long as there is time.
    const Slot::Lock lock(slot_.mutex_);
    attempt_.reset();
    if (!reason_to_give_up(now)) return std::nullopt;
  }
  leave();
  if (closed) return client_.closed_failure();
  if (!sane) return Failure(Errc::protocol, slot_.name() + ": grant number out of range");
  return Failure(Errc::unavailable, slot_.name() + ": grants arrive after their lease has ended");
}

std::optional<Failure> AcquireCall::give_up() {
  const std::optional<Failure> trouble = attempt_->trouble();
  // Without a time limit only trouble ends the wait; it has passed just now.
  if (until_ == never && why_->code == Errc::timeout && !trouble) return std::nullopt;
  const bool answered = attempt_->progress() == Acquisition::Progress::queued;
  {
    const Slot::Lock lock(slot_.mutex_);
    if (attempt_->done()) return std::nullopt;  // the loop settles it
    auto* const successor = slot_.state_.queue().empty()
                                ? nullptr
                                : static_cast<AcquireCall*>(slot_.state_.queue().front());
    if (successor != nullptr && may_wait_ && client_.alive() &&
        successor->terms->agrees_with(*terms)) {
      // The place in the server's queue goes to the next thread of this process.
      holder_ = attempt_->holder();
      successor->inherit_locked(std::exchange(attempt_, nullptr), trouble_since_);
      core::Waiter* const next = slot_.state_.leave(*this);
      if (!base::mutant("core.successor_is_not_told")) Slot::wake_locked(next);
    }
  }
  if (attempt_) return take_back(trouble);
  if (why_->code == Errc::timeout && trouble) return *trouble;
  // The successor answers for the attempt, so nothing is in doubt for this caller.
  if (why_->code == Errc::timeout && !answered) return unanswered();
  return contended(*why_);
}

std::optional<Failure> AcquireCall::take_back(const std::optional<Failure>& trouble) {
  const Acquisition::Progress progress = attempt_->progress();
  if (!base::mutant("core.leaves_its_place_in_the_queue")) client_.backend().cancel(attempt_);
  if (client_.wait_done(*attempt_, core::grace) || !attempt_->abandon()) {
    if (attempt_->grant().number != 0) return accept();
  } else {
    if (!base::mutant("core.leaves_its_place_in_the_queue")) client_.adopt(attempt_);
  }
  holder_ = attempt_->holder();
  const bool gone = attempt_->done();
  leave();
  if (why_->code != Errc::timeout) return contended(*why_);
  // Sent, and neither answered nor known to be gone: whatever the trouble, that comes first.
  const bool in_doubt = progress == Acquisition::Progress::sent && !gone;
  if (in_doubt) return trouble ? Failure(Errc::in_doubt, trouble->text) : no_answer(Errc::in_doubt);
  if (trouble) return *trouble;
  if (progress == Acquisition::Progress::queued) return contended(*why_);
  return unanswered();
}

Failure AcquireCall::unanswered() {
  // Others of this process held the name nearly until now: the server has not had its time.
  const core::Nanos asked_for = client_.now() - asks_since_;
  const bool kept_by_others = asks_since_ - began_ > asked_for;
  if (kept_by_others && asked_for < core::command_timeout(terms->lease)) return contended(*why_);
  return no_answer(Errc::unavailable);
}

Failure AcquireCall::no_answer(Errc code) {
  return {code, client_.backend().describe() + ": no answer in time"};
}

void AcquireCall::forsake() {
  std::shared_ptr<Attempt> attempt;
  bool passed = false;
  {
    const Slot::Lock lock(slot_.mutex_);
    attempt = std::move(attempt_);
    // The name may have been passed to it while it failed; its caller never learns of that.
    passed = wakeup == Wakeup::held;
    if (!passed) Slot::wake_locked(slot_.state_.leave(*this));
  }
  if (attempt && asked_) client_.abandon(attempt);
  Failure misuse;
  if (passed) slot_.release(owner, misuse);
}

void AcquireCall::leave() {
  const Slot::Lock lock(slot_.mutex_);
  Slot::wake_locked(slot_.state_.leave(*this));
}

Failure AcquireCall::contended(Failure why) {
  if (Observer* const observer = client_.observer();
      observer != nullptr && is_contention(why.code)) {
    observer->contended({.name = slot_.name(), .label = terms->label});
  }
  return why;
}

void AcquireCall::tell_granted(Instant now) {
  Observer* const observer = client_.observer();
  if (observer == nullptr) return;
  observer->granted({.name = slot_.name(),
                     .label = terms->label,
                     .token = slot_.token(owner),
                     .took = now - began_});
}

}  // namespace mortise::runtime
