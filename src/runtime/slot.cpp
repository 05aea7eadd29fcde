// SPDX-License-Identifier: MIT
// Unlock, and what a caller can ask about its hold. Loss and renewal are in slot_lease.cpp.
#include "runtime/slot.hpp"

#include "base/mutant.hpp"

#include <algorithm>
#include <exception>

namespace mortise::runtime {
namespace {

class LossNotice final : public Notifier::Task {
 public:
  void run() override { lost.request_stop(); }
  std::stop_source lost;
};

}  // namespace

Slot::Slot(std::shared_ptr<ClientState> client, std::string name)
    : client_(std::move(client)), name_(std::move(name)) {
  timer_.slot = this;
  listed.slot = this;
}

Slot::~Slot() {
  if (armed_ != never) client_->background().remove(timer_);
  client_->forget(*this);
}

Failure Slot::acquire(const std::shared_ptr<const core::Terms>& terms,
                      const AcquireOptions& options, std::optional<Holder>* holder) {
  // An observer may destroy whatever else keeps this slot, and with it the client.
  const std::shared_ptr<Slot> keep = shared_from_this();
  AcquireCall call(*this, terms, options);
  Failure failure;
  try {
    failure = call.run();
  } catch (...) {
    call.forsake();  // out of memory: the name must not wait for a call that is over
    throw;
  }
  if (failure && holder != nullptr) {
    *holder = call.take_holder();
    // For those who keep the failure; most want to know only that there is one.
    if (failure.code == Errc::timeout && *holder && !(*holder)->label.empty()) {
      failure.text += ": held by " + (*holder)->label;
    }
  }
  return failure;
}

void Slot::wake_locked(core::Waiter* waiter) {
  // Every waiter of a slot is a call.
  if (waiter != nullptr) static_cast<AcquireCall*>(waiter)->wake_locked();
}

void Slot::hold_granted_locked(AcquireCall& call, core::Hold&& hold) {
  // What needs memory, or a thread, comes first: where there is none, the hold is not recorded, and
  // the call that fails gives it back.
  state_.expect_grant();
  // Armed by the hold before, it ticks too early, and is armed anew then.
  if (armed_ > hold.lease.next()) arm_locked(hold.lease);
  pin_ = shared_from_this();
  state_.granted(call, std::move(hold));
  wake_reentered_locked();
}

void Slot::wake_reentered_locked() {
  while (core::Waiter* const waiter = state_.reenter_waiter()) wake_locked(waiter);
}

void Slot::unpin_if_idle_locked(std::shared_ptr<Slot>& unpinned) {
  // The caller destroys it outside the mutex: it may be the last reference.
  if (state_.live() == nullptr && !state_.remembers_losses()) unpinned = std::move(pin_);
}

std::shared_ptr<Attempt> Slot::new_attempt(const core::Terms& terms, bool wait) {
  return std::make_shared<Attempt>(Acquisition::Request{.attempt = client_->new_attempt_id(),
                                                        .name = name_,
                                                        .mode = Mode::exclusive,
                                                        .lease = terms.lease,
                                                        .label = terms.label,
                                                        .wait = wait},
                                   client_);
}

HoldId Slot::hold_id(const core::Hold& hold) const {
  return {.name = name_, .attempt = hold.attempt, .number = hold.number, .mode = Mode::exclusive};
}

Released Slot::release(Owner owner, Failure& failure) {
  // Silent for the guards of a closed client, and in a forked child, where the mutex is not to be
  // touched.
  if (!client_->alive()) return Released::unknown;
  owner = owner.or_this_thread();
  const Instant now = client_->now();
  Aftermath after(*this);
  const std::atomic<std::uint32_t>* woken = nullptr;
  Lock lock(mutex_);
  if (!base::mutant("core.expired_hold_is_passed")) expire_locked(now, after);
  core::NameState::Departure departure = state_.unlock(owner, now, client_->turn());
  switch (departure.exit) {
    case core::NameState::Exit::not_owner: failure = Failure(Errc::not_owner, name_); break;
    case core::NameState::Exit::nested: break;
    case core::NameState::Exit::was_lost: unpin_if_idle_locked(after.unpinned); break;
    case core::NameState::Exit::passed:
      after.notice = std::move(notice_);
      woken = static_cast<AcquireCall*>(departure.next)->mark_locked();
      wake_reentered_locked();
      break;
    case core::NameState::Exit::release: {
      const auto successor = departure.next == nullptr ? nullptr : departure.next->terms;
      after.notice = std::move(notice_);
      unpin_if_idle_locked(after.unpinned);
      Released outcome = Released::unknown;
      {
        // Under the mutex: close() looks for a hold here first, then waits for those who free one.
        const ClientState::Inside freeing = client_->freeing();
        lock.unlock();
        outcome = free_at_server(*departure.ended, successor);
      }
      tell_released(*departure.ended, outcome);
      return outcome;
    }
  }
  lock.unlock();
  if (woken != nullptr && !base::mutant("core.next_is_not_woken")) base::futex_wake(*woken);
  // Whoever has no hold frees none, as an empty guard does not.
  const bool stood = departure.exit == core::NameState::Exit::nested ||
                     departure.exit == core::NameState::Exit::passed;
  if (departure.exit == core::NameState::Exit::passed) {
    tell_released(*departure.ended, Released::released);
  }
  return stood ? Released::released : Released::was_lost;
}

Released Slot::free_at_server(const core::Hold& ended,
                              const std::shared_ptr<const core::Terms>& successor) {
  std::shared_ptr<Attempt> attempt;
  std::shared_ptr<Release> release;
  try {
    if (successor) attempt = new_attempt(*successor, true);
    release = std::make_shared<Release>(hold_id(ended), attempt);
    client_->send(release);
  } catch (const std::exception&) {
    // The hold ends with its lease; whoever waits here must not wait for its release.
    attempt = nullptr;
  }
  bool orphan = attempt != nullptr;
  {
    // Only now that the release has left: the next attempt of this client must come after it.
    const Lock lock(mutex_);
    if (orphan && !state_.queue().empty()) {
      auto* const front = static_cast<AcquireCall*>(state_.queue().front());
      if (front->terms->agrees_with(*successor)) {
        front->inherit_locked(attempt, std::nullopt);
        orphan = false;
      }
    }
    wake_locked(state_.release_sent());
  }
  // From here on what fails, out of memory, costs an answer and no more: the release is on its way.
  try {
    if (orphan) client_->abandon(attempt);
  } catch (const std::exception&) {
    // Nobody waits for it: what it is granted is given back.
  }
  try {
    if (release) return await(release, ended);
  } catch (const std::exception&) {
    // Its answer is not learned.
  }
  return Released::unknown;
}

Released Slot::await(const std::shared_ptr<Release>& release, const core::Hold& ended) {
  const core::Nanos half = core::command_timeout(ended.lease.wanted()) / 2;
  bool repeated = false;
  if (!client_->wait_done(*release, half)) {
    client_->send(release);
    repeated = true;
    if (!client_->wait_done(*release, half)) {
      // A renewal that was under way may be carried out after the first try, and counts anew.
      const Instant until = std::max(ended.lease.deadline(), client_->now() + ended.lease.wanted());
      if (!base::mutant("core.release_is_not_repeated")) {
        client_->background().adopt(release, until);
      }
      tell_failed(ended,
                  {Errc::unavailable, client_->backend().describe() + ": no answer in time"});
      return Released::unknown;
    }
  }
  if (release->failure()) {
    tell_failed(ended, release->failure());
    return Released::unknown;
  }
  // A repeated release finds nothing where the first one worked. Inside the lease nothing but the
  // first one can have ended the hold.
  const bool ours = repeated && ended.lease.valid_for(client_->now()) > core::Nanos(0);
  return ours && release->outcome() == Released::was_lost ? Released::released : release->outcome();
}

void Slot::tell_released(const core::Hold& ended, Released outcome) {
  // Kept: it may destroy the client.
  const std::shared_ptr<Observer> observer = client_->shared_observer();
  if (!observer) return;
  observer->released({.name = name_,
                      .label = ended.terms->label,
                      .token = ended.token(),
                      .took = client_->now() - ended.owned_since},
                     outcome);
}

void Slot::tell_failed(const core::Hold& ended, Failure why) {
  if (client_->observer() == nullptr) return;
  client_->news().post([observer = client_->shared_observer(), name = name_,
                        label = ended.terms->label, token = ended.token(), why = std::move(why)] {
    observer->failed({.name = name, .label = label, .token = token}, why);
  });
}

std::size_t Slot::hold_count(Owner owner) {
  if (client_->forked()) return 0;
  owner = owner.or_this_thread();
  const Lock lock(mutex_);
  const core::Hold* const live = state_.live();
  if (live != nullptr && live->owner == owner) return live->depth;
  const core::LostHold* const lost = state_.lost_hold(owner);
  return lost != nullptr ? lost->depth : 0;
}

Token Slot::token(Owner owner) {
  if (client_->forked()) return {};
  owner = owner.or_this_thread();
  const Lock lock(mutex_);
  const core::Hold* const live = state_.live();
  if (live != nullptr && live->owner == owner) return live->token();
  const core::LostHold* const lost = state_.lost_hold(owner);
  return lost != nullptr ? lost->token : Token();
}

core::Nanos Slot::valid_for(Owner owner) {
  if (client_->forked()) return core::Nanos(0);
  owner = owner.or_this_thread();
  const Lock lock(mutex_);
  const core::Hold* const live = state_.live();
  // The clock is read under the mutex: a renewal that came in between must not let a later look
  // say more than zero after an earlier one said zero.
  if (live == nullptr || live->owner != owner) return core::Nanos(0);
  return live->lease.valid_for(client_->now());
}

std::stop_token Slot::lost(Owner owner) {
  if (client_->forked()) return {};
  owner = owner.or_this_thread();
  const Lock lock(mutex_);
  core::Hold* const live = state_.live();
  if (live != nullptr && live->owner == owner) {
    if (!live->lost) {
      // With it what tells the loss: a loss needs no memory.
      auto notice = std::make_unique<LossNotice>();
      live->lost = notice->lost;
      notice_ = std::move(notice);
    }
    return live->lost->get_token();
  }
  core::LostHold* const lost = state_.lost_hold(owner);
  return lost != nullptr ? lost->stopped() : std::stop_token();
}

std::optional<Holder> Slot::holder(Failure& failure) {
  if (!client_->alive()) {
    failure = client_->closed_failure();
    return std::nullopt;
  }
  const auto inspection = std::make_shared<Inspection>(name_);
  const ClientState::OpenRequest open_request(*client_, *inspection);
  if (!inspection->done()) client_->backend().inspect(inspection);
  if (!client_->wait_done(*inspection, std::chrono::seconds(1))) {
    const auto trouble = inspection->trouble();
    failure = trouble ? *trouble
                      : Failure(Errc::unavailable, client_->backend().describe() + ": no answer");
    return std::nullopt;
  }
  failure = inspection->failure();
  return inspection->holder();
}

std::optional<Holder> Slot::local_holder() {
  if (client_->forked()) return std::nullopt;
  const Lock lock(mutex_);
  const core::Hold* const live = state_.live();
  if (live == nullptr) return std::nullopt;
  Holder holder{
      .label = live->terms->label, .token = live->token(), .expires_in = {}, .waiters = {}};
  const core::Nanos left = live->lease.valid_for(client_->now());
  if (left != core::Nanos::max()) {
    holder.expires_in = std::chrono::duration_cast<std::chrono::milliseconds>(left);
  }
  return holder;
}

void Slot::poke_waiters() {
  const Lock lock(mutex_);
  wake_locked(state_.requester());
  for (core::Waiter* const waiter : state_.queue()) wake_locked(waiter);
}

}  // namespace mortise::runtime
