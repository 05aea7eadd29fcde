// SPDX-License-Identifier: MIT
// The hold ends here first, under the mutex; then the next waiter is woken, or the server is told.
#include "runtime/release_call.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "runtime/acquire_call.hpp"
#include "runtime/client_state.hpp"
#include "runtime/open_requests.hpp"
#include "runtime/slot.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace mortise::runtime {
namespace {

constexpr std::chrono::seconds longest_confirmation{1};

}  // namespace

ReleaseCall::ReleaseCall(Slot& slot, Mode mode, KeyEnding* ending) noexcept
    : mode_(mode),
      ending_(ending),
      name_(slot.shared()),
      keeper_(slot.keeper(mode)),
      client_(slot.client()) {}

Released ReleaseCall::run(Owner owner, Failure& failure) {
  // Silent for the guards of a closed client, and in a forked child, where the mutex is not to be
  // touched.
  if (!client_.alive()) return Released::unknown;
  owner = owner.or_this_thread();
  const Instant now = client_.now();
  Aftermath after(name_);
  const std::atomic<std::uint32_t>* woken = nullptr;
  SharedName::Lock lock(name_.mutex);
  if (!base::mutant("core.expired_hold_is_passed")) keeper_.expire_locked(now, after);
  const core::TurnLimits turn = name_.key ? core::TurnLimits{.passes = 0} : client_.turn();
  core::NameState::Departure departure = name_.state.unlock(owner, now, turn, mode_);
  switch (departure.exit) {
    case core::NameState::Exit::not_owner: failure = Failure(Errc::not_owner, name_.name); break;
    case core::NameState::Exit::nested: break;
    case core::NameState::Exit::was_lost: keeper_.unpin_if_idle_locked(after); break;
    case core::NameState::Exit::parted:
      after.never_needed = keeper_.take_notice_locked(owner);
      break;
    case core::NameState::Exit::passed:
      after.never_needed = keeper_.take_notice_locked(owner);
      woken = SharedName::call_of(departure.next)->mark_locked();
      name_.wake_reentered_locked();
      break;
    case core::NameState::Exit::release: {
      const auto successor = departure.next == nullptr ? nullptr : departure.next->terms;
      const std::uint64_t asked_at = name_.key ? name_.key->arrivals : 0;
      after.never_needed = keeper_.take_notice_locked(owner);
      keeper_.unpin_if_idle_locked(after);
      name_.wake_joined_locked();  // where its owner goes on as a reader
      Released outcome = Released::unknown;
      {
        // Under the mutex: close() looks for a hold here first, then waits for those who free one.
        const Closing::Inside freeing = client_.closing().freeing();
        lock.unlock();
        outcome = name_.key ? free_key(*departure.ended, asked_at, failure)
                            : free_at_server(*departure.ended, successor);
      }
      tell_released(*departure.ended, outcome);
      return outcome;
    }
  }
  lock.unlock();
  if (woken != nullptr && !base::mutant("core.next_is_not_woken")) base::futex_wake(*woken);
  const bool over = departure.exit == core::NameState::Exit::was_lost ||
                    departure.exit == core::NameState::Exit::not_owner;
  if (over && ending_ != nullptr && ending_->conclusion->written) return confirm(failure);
  // Whoever has no hold frees none, as an empty guard does not.
  const bool stood = !over;
  if (departure.ended) tell_released(*departure.ended, Released::released);
  return stood ? Released::released : Released::was_lost;
}

Released ReleaseCall::free_at_server(const core::Hold& ended,
                                     const std::shared_ptr<const core::Terms>& successor) {
  std::shared_ptr<Attempt> attempt;
  std::shared_ptr<Release> release;
  try {
    if (successor) attempt = name_.new_attempt(*successor, true);
    release = std::make_shared<Release>(name_.hold_id(ended), attempt);
    client_.send(release);
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
  try {
    if (release) return await(std::move(release), ended);
  } catch (const std::exception&) {
    // Its answer is not learned.
  }
  return Released::unknown;
}

// Those who wait here for a key are told by this answer, if that serves them; so nobody asks before
// it has come.
Released ReleaseCall::free_key(const core::Hold& ended, std::uint64_t asked_at, Failure& failure) {
  Released outcome = Released::unknown;
  std::shared_ptr<Release> release;
  try {
    const auto conclusion = ending_ != nullptr ? ending_->conclusion : nullptr;
    release = std::make_shared<Release>(name_.hold_id(ended), conclusion);
    client_.send(release);
    outcome = await(release, ended);
  } catch (const std::exception&) {
    // Out of memory: it ends with its lease, or its answer is not learned.
  }
  if (outcome == Released::unknown) {
    failure = release && release->done() && release->failure()
                  ? release->failure()
                  : Failure(Errc::in_doubt, client_.backend().describe() + ": no answer in time");
  }
  if (release && release->stood()) ending_->record = ending_->conclusion->written;
  const SharedName::Lock lock(name_.mutex);
  if (ending_ != nullptr && outcome == Released::released) {
    name_.tell_locked({.record = ending_->record, .asked_at = asked_at});
  }
  SharedName::wake_locked(name_.state.release_sent());
  return outcome;
}

Released ReleaseCall::confirm(Failure& failure) {
  failure = {Errc::in_doubt, client_.backend().describe() + ": no answer in time"};
  try {
    const auto release = std::make_shared<Release>(ending_->hold, ending_->conclusion);
    const OpenRequest open_request(client_, *release);
    if (!release->done()) client_.backend().release(release);
    // It is asked for no longer then.
    if (!client_.wait_done(*release, longest_confirmation)) release->failed(failure);
    if (!release->done()) return Released::unknown;
    if (release->stood()) ending_->record = ending_->conclusion->written;
    if (release->failure()) failure = release->failure();
    return release->outcome();
  } catch (const std::exception&) {
    return Released::unknown;  // out of memory: its answer is not learned
  }
}

Released ReleaseCall::await(std::shared_ptr<Release> release, const core::Hold& ended) {
  const core::Nanos half = core::command_timeout(ended.lease.wanted()) / 2;
  bool repeated = false;
  if (!client_.wait_done(*release, half)) {
    if (ending_ != nullptr && base::mutant("core.an_outcome_is_said_once")) {
      release = std::make_shared<Release>(name_.hold_id(ended));
    }
    client_.send(release);
    repeated = true;
    if (!client_.wait_done(*release, half)) {
      // A renewal that was under way may be carried out after the first try, and counts anew.
      const Instant until = std::max(ended.lease.deadline(), client_.now() + ended.lease.wanted());
      if (!base::mutant("core.release_is_not_repeated")) {
        client_.background().adopt(release, until);
      }
      tell_failed(ended, {Errc::unavailable, client_.backend().describe() + ": no answer in time"});
      return Released::unknown;
    }
  }
  if (release->failure()) {
    tell_failed(ended, release->failure());
    return Released::unknown;
  }
  if (!repeated || release->outcome() != Released::was_lost) return release->outcome();
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

void ReleaseCall::tell_released(const core::Hold& ended, Released outcome) {
  // Kept: it may destroy the client.
  const std::shared_ptr<Observer> observer = client_.shared_observer();
  if (!observer) return;
  observer->released({.name = name_.name,
                      .label = ended.terms->label,
                      .token = ended.token(),
                      .took = client_.now() - ended.owned_since},
                     outcome);
}

void ReleaseCall::tell_failed(const core::Hold& ended, Failure why) {
  if (client_.observer() == nullptr) return;
  client_.news().post([observer = client_.shared_observer(), name = name_.name,
                       label = ended.terms->label, token = ended.token(), why = std::move(why)] {
    observer->failed({.name = name, .label = label, .token = token}, why);
  });
}

}  // namespace mortise::runtime
