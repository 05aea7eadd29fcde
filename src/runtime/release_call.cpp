// SPDX-License-Identifier: MIT
// The hold ends here first, under the mutex; then the next waiter is woken, or the server is told.
#include "runtime/release_call.hpp"

#include "base/live_threads.hpp"
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "core/keeping.hpp"
#include "runtime/acquire_call.hpp"
#include "runtime/client_state.hpp"
#include "runtime/kept_hold.hpp"
#include "runtime/open_requests.hpp"
#include "runtime/slot.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace mortise::runtime {

ReleaseCall::ReleaseCall(Slot& slot, Mode mode, KeyEnding* ending) noexcept
    : slot_(slot),
      mode_(mode),
      ending_(ending),
      name_(slot.shared()),
      keeper_(slot.keeper(mode)),
      client_(slot.client()),
      after_(name_) {}

Released ReleaseCall::run(Owner owner, Failure& failure, Unlocking by) {
  begin(owner, failure, by);
  if (!wait(half_of_its_time())) {
    repeat();
    wait(half_of_its_time());
  }
  const Released outcome = settle();
  tell();
  return outcome;
}

// Whoever locked in one thread and unlocks in another is to find that out by the words.
Failure ReleaseCall::not_owner_locked() const {
  const bool others = name_.state.live() != nullptr;
  return {Errc::not_owner,
          others ? name_.name +
                       ": another owner of this client holds it (each thread is an owner; see "
                       "mortise::Owner)"
                 : name_.name};
}

void ReleaseCall::begin(Owner owner, Failure& failure, Unlocking by) {
  // Silent for the guards of a closed client, and in a forked child, where the mutex is not to be
  // touched.
  if (!client_.alive()) return;
  owner = owner.or_this_thread();
  const Instant now = client_.now();
  const std::atomic<std::uint32_t>* woken = nullptr;
  SharedName::Lock lock(name_.mutex);
  if (!base::mutant("core.expired_hold_is_passed")) keeper_.expire_locked(now, after_);
  if (by == Unlocking::guard) name_.state.guard_leaves(owner, mode_);
  const core::TurnLimits turn = name_.key ? core::TurnLimits{.passes = 0} : client_.turn();
  core::NameState::Departure departure = name_.state.unlock(owner, now, turn, mode_);
  ended_ = std::move(departure.ended);
  // Whoever has no hold frees none, as an empty guard does not.
  outcome_ = Released::was_lost;
  switch (departure.exit) {
    case core::NameState::Exit::not_owner:
      // A thread at its very end may unlock what was lost and is forgotten.
      if (!base::has_ended(owner)) failure = not_owner_locked();
      break;
    case core::NameState::Exit::nested: outcome_ = Released::released; break;
    case core::NameState::Exit::was_lost: keeper_.unpin_if_idle_locked(after_); break;
    case core::NameState::Exit::parted: outcome_ = Released::released; break;
    case core::NameState::Exit::passed:
      outcome_ = Released::released;
      woken = SharedName::call_of(departure.next)->mark_locked();
      name_.wake_reentered_locked();
      break;
    case core::NameState::Exit::release: {
      const auto successor = departure.next == nullptr ? nullptr : departure.next->terms;
      const std::uint64_t asked_at = name_.key ? name_.key->arrivals : 0;
      keeper_.unpin_if_idle_locked(after_);
      look_after_readers_locked(now);
      // Under the mutex: close() looks for a hold here first, then waits for those who free one.
      freeing_.emplace(client_.closing().freers());
      lock.unlock();
      outcome_ = Released::unknown;
      if (name_.key) {
        outcome_ = free_key(*ended_, asked_at, failure);
      } else if (by != Unlocking::backs_out && core::Keeping::due(*ended_, now)) {
        keep_at_server(*ended_);
      } else {
        free_at_server(*ended_, successor);
      }
      return;
    }
  }
  lock.unlock();
  if (woken != nullptr && !base::mutant("core.next_is_not_woken")) base::futex_wake(*woken);
  const bool over = departure.exit == core::NameState::Exit::was_lost ||
                    departure.exit == core::NameState::Exit::not_owner;
  if (over && ending_ != nullptr && ending_->conclusion->written) outcome_ = confirm(failure);
}

// Its owner goes on as a reader.
void ReleaseCall::look_after_readers_locked(Instant now) noexcept {
  name_.wake_joined_locked();
  try {
    // They may have to wait for as long as the name is kept.
    if (name_.state.sharers()) slot_.keeper(Mode::shared).look_after_waiters_locked(now);
  } catch (const std::exception&) {
    // No memory for the timer: they are looked after when the hold is renewed.
  }
}

void ReleaseCall::free_at_server(const core::Hold& ended,
                                 const std::shared_ptr<const core::Terms>& successor) {
  std::shared_ptr<Attempt> attempt;
  try {
    if (successor) attempt = name_.new_attempt(*successor, true);
    release_ = std::make_shared<Release>(name_.hold_id(ended), attempt);
    client_.send(release_);
  } catch (const std::exception&) {
    // The hold ends with its lease; whoever waits here must not wait for its release.
    attempt = nullptr;
  }
  bool orphan = attempt != nullptr;
  {
    // Only now that the release has left: the next attempt of this client must come after it.
    const SharedName::Lock lock(name_.mutex);
    AcquireCall* const front = name_.first_locked();
    if (orphan && front != nullptr && front->terms->agrees_with(*successor)) {
      front->inherit_locked(attempt, std::nullopt);
      orphan = false;
    }
    SharedName::wake_locked(name_.state.release_sent());
  }
  // From here on what fails, out of memory, costs an answer and no more: the release is on its way.
  try {
    if (orphan) client_.abandon(attempt);
  } catch (const std::exception&) {
    // Nobody waits for it: what it is granted is given back.
  }
}

void ReleaseCall::keep_at_server(const core::Hold& ended) {
  try {
    kept_ = name_.kept(ended, client_.now());
    word_ = kept_->say(client_.backend(), client_.now());
  } catch (const std::bad_alloc&) {
    // It ends with the lease that it has.
  }
  // Whoever asks now waits at the server, as others do.
  const SharedName::Lock lock(name_.mutex);
  SharedName::wake_locked(name_.state.release_sent());
}

Released ReleaseCall::kept() {
  try {
    if (!kept_->gone()) client_.background().adopt(kept_);
    if (!kept_->settled()) tell_unanswered(*ended_, word_.get());
  } catch (const std::exception&) {
    // It ends with the lease that it has.
  }
  return std::exchange(kept_, nullptr)->outcome();
}

// Those who wait here for a key are told by this answer, if that serves them; so nobody asks before
// it has come.
Released ReleaseCall::free_key(const core::Hold& ended, std::uint64_t asked_at, Failure& failure) {
  try {
    const auto conclusion = ending_ != nullptr ? ending_->conclusion : nullptr;
    release_ = std::make_shared<Release>(name_.hold_id(ended), conclusion);
    client_.send(release_);
  } catch (const std::exception&) {
    // Out of memory: it ends with its lease.
  }
  const std::shared_ptr<Release> release = release_;
  if (!wait(half_of_its_time())) {
    repeat();
    wait(half_of_its_time());
  }
  const Released outcome = learned();
  if (outcome == Released::unknown) {
    const bool failed = release && release->done() && release->failure();
    failure = failed    ? release->failure()
              : release ? client_.why_unanswered(*release)
                        : client_.no_answer();
    if (!failed) failure.code = Errc::in_doubt;
  }
  // Of one that was not answered in time this is being written by whoever repeats it.
  if (outcome == Released::released && release->stood()) {
    ending_->record = ending_->conclusion->written;
  }
  const SharedName::Lock lock(name_.mutex);
  if (ending_ != nullptr && outcome == Released::released) {
    name_.tell_locked({.record = ending_->record, .asked_at = asked_at});
  }
  SharedName::wake_locked(name_.state.release_sent());
  return outcome;
}

Released ReleaseCall::confirm(Failure& failure) {
  failure = client_.no_answer(Errc::in_doubt);
  try {
    const auto release = std::make_shared<Release>(ending_->hold, ending_->conclusion);
    const OpenRequest open_request(client_, *release);
    if (!release->done()) client_.backend().release(release);
    // It is asked for no longer then.
    const core::Nanos at_most = core::command_timeout(ending_->lease);
    if (!client_.wait_done(*release, at_most)) release->failed(failure);
    if (!release->done()) return Released::unknown;
    if (release->stood()) ending_->record = ending_->conclusion->written;
    if (release->failure()) failure = release->failure();
    return release->outcome();
  } catch (const std::exception&) {
    return Released::unknown;  // out of memory: its answer is not learned
  }
}

core::Nanos ReleaseCall::half_of_its_time() const noexcept {
  return ended_ ? core::command_timeout(ended_->lease.wanted()) / 2 : core::Nanos(0);
}

bool ReleaseCall::wait(core::Nanos at_most) {
  try {
    if (kept_) {
      if (word_ && !kept_->settled()) client_.wait_done(*word_, at_most);
      return kept_->settled();
    }
    return !release_ || client_.wait_done(*release_, at_most);
  } catch (const std::exception&) {
    release_.reset();  // out of memory: its answer is not learned
    return true;
  }
}

void ReleaseCall::repeat() {
  if (kept_ && !kept_->settled()) word_ = kept_->say(client_.backend(), client_.now());
  if (!release_ || release_->done()) return;
  if (ending_ != nullptr && base::mutant("core.an_outcome_is_said_once")) {
    release_ = std::make_shared<Release>(name_.hold_id(*ended_));
  }
  client_.send(release_);
  repeated_ = true;
}

Released ReleaseCall::settle(bool had_its_time) {
  had_its_time_ = had_its_time;
  if (release_) outcome_ = learned();
  if (kept_) outcome_ = kept();
  freeing_.reset();
  return outcome_;
}

Released ReleaseCall::learned() {
  Released outcome = Released::unknown;
  try {
    if (release_) outcome = answer();
  } catch (const std::exception&) {
    // Out of memory: it may not be repeated, and ends with its lease.
  }
  release_.reset();
  return outcome;
}

Released ReleaseCall::answer() {
  const core::Hold& ended = *ended_;
  if (!release_->done()) {
    // A renewal that was under way may be carried out after the first try, and counts anew.
    const Instant until = std::max(ended.lease.deadline(), client_.now() + ended.lease.wanted());
    if (!base::mutant("core.release_is_not_repeated")) {
      client_.background().adopt(release_, until);
      client_.have_answers_read();
    }
    if (had_its_time_) tell_unanswered(ended, release_.get());
    return Released::unknown;
  }
  if (release_->failure()) {
    tell_failed(ended, release_->failure());
    return Released::unknown;
  }
  if (!repeated_ || release_->outcome() != Released::was_lost) return release_->outcome();
  // A repeated release finds nothing where the first one worked. Inside the lease nothing but the
  // first one can have ended the hold. What a run recorded may stand there no longer, since another
  // run came after a failure, or it was forgotten: whoever is told that it lost has recorded
  // nothing, so that is not said here.
  // Of what the runner has written by itself the store says for certain that it is not there.
  if (ending_ != nullptr) {
    return ending_->conclusion->written ? Released::was_lost : Released::unknown;
  }
  const bool ours = ended.lease.valid_for(client_.now()) > core::Nanos(0);
  return ours ? Released::released : Released::was_lost;
}

void ReleaseCall::tell() {
  if (ended_) tell_released(*ended_, outcome_);
}

void ReleaseCall::tell_released(const core::Hold& ended, Released outcome) {
  // Kept: it may destroy the client.
  const std::shared_ptr<Observer> observer = client_.shared_observer();
  if (!observer) return;
  observer->released({.name = name_.name,
                      .label = ended.terms->label,
                      .token = ended.token(),
                      .took = client_.now() - ended.owned_since,
                      .mode = name_.mode_of(*ended.terms)},
                     outcome);
}

void ReleaseCall::tell_unanswered(const core::Hold& ended, const Operation* asked) {
  tell_failed(ended, asked != nullptr ? client_.why_unanswered(*asked) : client_.no_answer());
}

void ReleaseCall::tell_failed(const core::Hold& ended, Failure why) {
  if (client_.observer() == nullptr) return;
  client_.news().post([observer = client_.shared_observer(), name = name_.name,
                       label = ended.terms->label, token = ended.token(),
                       took = client_.now() - ended.owned_since, mode = name_.mode_of(*ended.terms),
                       why = std::move(why)] {
    observer->failed({.name = name, .label = label, .token = token, .took = took, .mode = mode},
                     why);
  });
}

}  // namespace mortise::runtime
