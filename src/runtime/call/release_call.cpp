// SPDX-License-Identifier: MIT
// Each action of the machine: the hold ends under the slot's mutex, and the store learns of it
// outside of that.
#include "runtime/call/release_call.hpp"

#include "base/live_threads.hpp"
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "core/keeping.hpp"
#include "runtime/call/acquire_call.hpp"
#include "runtime/hold/aftermath.hpp"
#include "runtime/hold/hold_news.hpp"
#include "runtime/hold/kept_hold.hpp"
#include "runtime/hold/slot.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace mortise::runtime {
namespace {

using Do = core::ReleaseCourse::Do;
using Exit = core::NameState::Exit;

core::ReleaseCourse::Plan plan_of(const KeyEnding* ending) noexcept {
  if (ending == nullptr) return {};
  return {
      .concludes = true, .written = ending->conclusion->written != nullptr, .lease = ending->lease};
}

}  // namespace

ReleaseCall::ReleaseCall(Slot& slot, const Unlock& what) noexcept
    : slot_(slot),
      what_{what.owner.or_this_thread(),
            what.mode,
            what.by,
            what.ending,
            what.waker,
            what.is_reported},
      machine_(plan_of(what.ending)) {}

ClientState& ReleaseCall::client() const noexcept { return slot_.client(); }

Released ReleaseCall::run(Failure& failure) {
  while (advance()) request_->wait(action_.until);
  return end(failure);
}

bool ReleaseCall::advance() noexcept {
  while (action_.what != Do::end) {
    const bool sleeps = action_.what == Do::await && !std::exchange(asleep_, true);
    if (sleeps && !hurries_) return true;
    asleep_ = false;
    action_ = carry_out(action_.what);
  }
  freeing_.reset();
  return false;
}

void ReleaseCall::sleep(core::Nanos at_most) noexcept { request_->wait(action_.until, at_most); }

ReleaseCall::Action ReleaseCall::carry_out(Do what) noexcept {
  switch (what) {
    case Do::leave: return leave();
    case Do::release: return release();
    case Do::keep: return keep();
    case Do::confirm: return confirm();
    case Do::repeat: return look(request_->repeat());
    case Do::await: return look();
    case Do::settle: return settle();
    case Do::entrust: return entrust();
    case Do::end: break;
  }
  return {.what = Do::end};
}

ReleaseCall::Action ReleaseCall::leave() noexcept {
  // Silent for the guards of a closed client, and in a forked child, which must not touch the
  // mutex.
  if (!client().alive()) return {.what = Do::end};
  const Instant now = seen_.at = client().now();
  const std::atomic<std::uint32_t>* woken = nullptr;
  Machine::Left event;
  {
    // A loss that is found here is reported at once, and not after the answer to the release.
    Aftermath after(slot_);
    const Slot::Lock lock(slot_.mutex);
    HoldKeeper& keeper = slot_.keeper(what_.mode);
    if (!base::mutant("core.expired_hold_is_passed")) keeper.expire_locked(now, after);
    if (what_.by == Unlocking::guard) slot_.state.change_guards(what_.owner, -1, what_.mode);
    const core::TurnLimits turn = slot_.key ? core::TurnLimits{.passes = 0} : client().turn();
    core::NameState::Departure left = slot_.state.unlock(what_.owner, now, turn, what_.mode);
    event.exit = left.exit;
    ended_ = std::move(left.ended);
    // A thread at its very end may unlock what was lost and is forgotten.
    seen_.is_misuse = left.exit == Exit::not_owner && !base::has_ended(what_.owner);
    seen_.other_holds = slot_.state.live() != nullptr;
    if (left.exit == Exit::was_lost) keeper.unpin_if_idle_locked(after);
    if (left.exit == Exit::passed) {
      woken = Slot::call_of(left.next)->mark_locked();
      slot_.serve_locked();
    }
    if (left.exit == Exit::release) {
      if (left.next != nullptr) seen_.successor = left.next->terms;
      if (slot_.key) seen_.asked_at = slot_.key->arrivals;
      event.lease = ended_->lease.wanted();
      event.keeps =
          !slot_.key && what_.by != Unlocking::backs_out && core::Keeping::due(*ended_, now);
      keeper.unpin_if_idle_locked(after);
      look_after_readers_locked(now);
      // Under the mutex: close() looks for a hold here first, then waits for the calls that free
      // one.
      freeing_.emplace(client().closing().freers(), what_.waker == nullptr);
    }
    unpinned_ = std::move(after.unpinned);
  }
  if (woken != nullptr && !base::mutant("core.next_is_not_woken")) base::futex_wake(*woken);
  return machine_.step(event);
}

// Its owner goes on as a reader.
void ReleaseCall::look_after_readers_locked(Instant now) noexcept {
  slot_.serve_locked();
  try {
    // They may have to wait for as long as the name is kept.
    if (slot_.state.sharers()) slot_.keeper(Mode::shared).look_after_waiters_locked(now);
  } catch (const std::exception&) {
    // No memory for the timer: they are looked after when the hold is renewed.
  }
}

ReleaseCall::Action ReleaseCall::release() noexcept {
  std::shared_ptr<Attempt> yielded;
  request_.emplace(client().store(), what_.waker);
  try {
    const HoldId hold = slot_.hold_id(*ended_);
    if (slot_.key) {
      request_->send(std::make_shared<Release>(
          hold, what_.ending != nullptr ? what_.ending->conclusion : nullptr));
    } else {
      if (seen_.successor) {
        const Slot::Lock lock(slot_.mutex);
        yielded = slot_.new_attempt_locked(*seen_.successor, true);
      }
      request_->send(std::make_shared<Release>(hold, yielded));
    }
  } catch (const std::exception&) {
    // The hold ends with its lease; the waiters here must not wait for its release.
    yielded = nullptr;
  }
  // The answer to the release of a key may serve its waiters, so none of them asks before that.
  if (!slot_.key) release_sent(std::move(yielded));
  return look_at_sent();
}

void ReleaseCall::release_sent(std::shared_ptr<Attempt> yielded) noexcept {
  if (!yielded && slot_.state.release_left_unseen()) return;  // as nearly always
  {
    const Slot::Lock lock(slot_.mutex);
    AcquireCall* const front = slot_.first_locked();
    if (yielded && front != nullptr && front->terms->agrees_with(*seen_.successor)) {
      front->inherit_locked(std::exchange(yielded, nullptr), std::nullopt);
    }
    slot_.release_sent_locked();
  }
  // From here on what fails, out of memory, costs an answer and no more: the release is on its way.
  try {
    if (yielded) client().store().abandon(yielded);
  } catch (const std::exception&) {
    // It counts as abandoned all the same: its grant is given back.
  }
}

ReleaseCall::Action ReleaseCall::keep() noexcept {
  request_.emplace(client().store(), what_.waker);
  try {
    request_->send(slot_.kept(*ended_, client().now()));
  } catch (const std::bad_alloc&) {
    // It ends with the lease that it has.
  }
  // A caller that asks now waits at the server, as those of other clients do.
  release_sent(nullptr);
  return look_at_sent();
}

ReleaseCall::Action ReleaseCall::confirm() noexcept {
  request_.emplace(client().store(), what_.waker);
  try {
    request_->confirm(std::make_shared<Release>(what_.ending->hold, what_.ending->conclusion));
  } catch (const std::exception&) {
    // Out of memory: its answer is not learned.
  }
  return look_at_sent();
}

// By the clock as the call ended the hold: nothing has blocked since then.
ReleaseCall::Action ReleaseCall::look_at_sent() noexcept {
  return judge(request_->look(client().store().real_time_at(seen_.at)));
}

ReleaseCall::Action ReleaseCall::look(bool sent_again) noexcept {
  Machine::Looked event = request_->look();
  event.sent_again = sent_again;
  return judge(event);
}

ReleaseCall::Action ReleaseCall::judge(Machine::Looked event) noexcept {
  event.impatient = hurries_;
  return machine_.step(event);
}

ReleaseCall::Action ReleaseCall::settle() noexcept {
  using By = Machine::Answered::By;
  Machine::Answered event = request_->answer();
  // The clock is read only if the answer depends on it.
  event.lease_stands = event.by == By::was_lost && ended_ &&
                       ended_->lease.valid_for(client().now()) > core::Nanos(0);
  const Action next = machine_.step(event);
  note_failure(event);
  // A request without an answer in time is repeated, and writes the outcome then.
  if (what_.ending != nullptr && request_->stood()) {
    what_.ending->record = what_.ending->conclusion->written;
  }
  if (ended_ && slot_.key) tell_waiters();
  return next;
}

void ReleaseCall::note_failure(const Machine::Answered& answered) noexcept {
  using By = Machine::Answered::By;
  const bool needs_words = slot_.key && machine_.outcome() == Released::unknown;
  if (needs_words) failure_.emplace().code = Errc::in_doubt;  // without memory for words
  try {
    if (needs_words) failure_ = why_unknown(answered.by);
    const bool unanswered = answered.by == By::nothing && !answered.gone && machine_.had_its_time();
    if (ended_ && (answered.by == By::failure || unanswered)) {
      HoldNews(slot_, *ended_)
          .post(client().announcements(),
                [why = request_->why()](Observer& observer, const Event& event) {
                  observer.failed(event, why);
                });
    }
  } catch (const std::exception&) {
    // Out of memory for the words.
  }
}

Failure ReleaseCall::why_unknown(Machine::Answered::By by) const {
  if (by == Machine::Answered::By::failure) return request_->why();
  if (!ended_)
    return client().store().no_answer(Errc::in_doubt);  // it was asked to confirm an outcome
  Failure why = request_->why();
  why.code = Errc::in_doubt;
  return why;
}

void ReleaseCall::tell_waiters() noexcept {
  const Slot::Lock lock(slot_.mutex);
  if (what_.ending != nullptr && machine_.outcome() == Released::released) {
    slot_.tell_locked({.record = what_.ending->record, .asked_at = seen_.asked_at});
  }
  slot_.release_sent_locked();
}

ReleaseCall::Action ReleaseCall::entrust() noexcept {
  const core::Lease& lease = ended_->lease;
  // The server may execute a renewal after the first try. The lease then counts from that renewal.
  request_->entrust(std::max(lease.deadline(), client().now() + lease.wanted()));
  return machine_.step();
}

Released ReleaseCall::end(Failure& failure) {
  const Released outcome = machine_.outcome();
  if (failure_) failure = *std::move(failure_);
  // A caller that locked in one thread and unlocks in another learns that from the message.
  if (seen_.is_misuse && !slot_.key) {
    failure = {Errc::not_owner, slot_.name()};
    if (seen_.other_holds) {
      failure.text +=
          ": another owner of this client holds it (each thread is an owner; see mortise::Owner)";
    }
  }
  // A copy, because the observer may destroy the client.
  const std::shared_ptr<Observer> observer = client().announcements().observer();
  if (observer && ended_ && what_.is_reported)
    observer->released(event_of(slot_, *ended_), outcome);
  return outcome;
}

}  // namespace mortise::runtime
