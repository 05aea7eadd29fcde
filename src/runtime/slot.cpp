// SPDX-License-Identifier: MIT
// A caller comes in, a hold begins, and what a caller can ask about its hold.
#include "runtime/slot.hpp"

#include "runtime/acquire_call.hpp"
#include "runtime/client_state.hpp"
#include "runtime/release_call.hpp"

#include <utility>

namespace mortise::runtime {

Slot::Slot(std::shared_ptr<ClientState> client, std::string name, Mode mode)
    : shared_{.client = std::move(client),
              .name = std::move(name),
              .key = mode == Mode::once ? std::make_unique<KeyTalk>() : nullptr},
      keeper_(*this, shared_) {}

Slot::~Slot() {
  keeper_.disarm_locked();  // nobody else has a reference any more: the mutex is not needed
  client().slots(shared_.mode()).forget(*this);
}

Failure Slot::acquire(const std::shared_ptr<const core::Terms>& terms,
                      const AcquireOptions& options, std::optional<Holder>* holder, KeyCall* key) {
  // An observer may destroy whatever else keeps this slot, and with it the client. Nobody else may:
  // who destroys a lock that is in use loses this frame as well.
  const std::shared_ptr<Slot> keep = client().observer() != nullptr ? shared_from_this() : nullptr;
  AcquireCall call(*this, terms, options, key);
  try {
    return call.run(holder);
  } catch (...) {
    call.forsake();  // out of memory: the name must not wait for a call that is over
    throw;
  }
}

Released Slot::release(Owner owner, Failure& failure) {
  return ReleaseCall(*this).run(owner, failure);
}

Slot::Guarded Slot::guard(Owner owner) {
  if (client().forked()) return {};
  const SharedName::Lock lock(shared_.mutex);
  shared_.state.guard_comes(owner);
  core::Hold* const live = shared_.state.live();
  if (live != nullptr && live->owner == owner) return {live->token(), keeper_.lost_locked(*live)};
  core::LostHold* const lost = shared_.state.lost_hold(owner);
  return lost != nullptr ? Guarded{lost->token, lost->stopped()} : Guarded();
}

Released Slot::release_guard(Owner owner, Failure& failure) {
  return ReleaseCall(*this).run(owner, failure, Unlocking::guard);
}

void Slot::guarded(Owner owner) noexcept {
  if (client().forked()) return;
  const SharedName::Lock lock(shared_.mutex);
  shared_.state.guard_comes(owner);
}

Released Slot::conclude(Owner owner, KeyEnding* ending, Failure& failure) {
  return ReleaseCall(*this, ending).run(owner, failure);
}

void Slot::granted_locked(AcquireCall& call, core::Hold&& hold) {
  // What needs memory, or a thread, comes first: where there is none, the hold is not recorded, and
  // the call that fails gives it back.
  if (shared_.state.remembers_losses()) keeper_.forget_the_dead_locked();
  shared_.state.expect_grant();
  keeper_.begin_locked(hold.lease);
  shared_.state.granted(call, std::move(hold));
  shared_.wake_reentered_locked();
}

std::size_t Slot::hold_count(Owner owner) {
  if (client().forked()) return 0;
  owner = owner.or_this_thread();
  const SharedName::Lock lock(shared_.mutex);
  const core::Hold* const live = shared_.state.live();
  if (live != nullptr && live->owner == owner) return live->depth;
  const core::LostHold* const lost = shared_.state.lost_hold(owner);
  return lost != nullptr ? lost->depth : 0;
}

Token Slot::token(Owner owner) {
  if (client().forked()) return {};
  owner = owner.or_this_thread();
  const SharedName::Lock lock(shared_.mutex);
  const core::Hold* const live = shared_.state.live();
  if (live != nullptr && live->owner == owner) return live->token();
  const core::LostHold* const lost = shared_.state.lost_hold(owner);
  return lost != nullptr ? lost->token : Token();
}

core::Nanos Slot::valid_for(Owner owner) {
  if (client().forked()) return core::Nanos(0);
  owner = owner.or_this_thread();
  const SharedName::Lock lock(shared_.mutex);
  const core::Hold* const live = shared_.state.live();
  // The clock is read under the mutex: a renewal that came in between must not let a later look
  // say more than zero after an earlier one said zero.
  if (live == nullptr || live->owner != owner) return core::Nanos(0);
  return live->lease.valid_for(client().now());
}

std::stop_token Slot::lost(Owner owner) {
  if (client().forked()) return {};
  owner = owner.or_this_thread();
  const SharedName::Lock lock(shared_.mutex);
  core::Hold* const live = shared_.state.live();
  if (live != nullptr && live->owner == owner) return keeper_.lost_locked(*live);
  core::LostHold* const lost = shared_.state.lost_hold(owner);
  return lost != nullptr ? lost->stopped() : std::stop_token();
}

std::optional<Holder> Slot::holder(Failure& failure) const {
  if (!client().alive()) {
    failure = client().closed_failure();
    return std::nullopt;
  }
  const auto inspection = std::make_shared<Inspection>(name());
  const OpenRequest open_request(client(), *inspection);
  if (!inspection->done()) client().backend().inspect(inspection);
  if (!client().wait_done(*inspection, std::chrono::seconds(1))) {
    const auto trouble = inspection->trouble();
    failure = trouble ? *trouble
                      : Failure(Errc::unavailable, client().backend().describe() + ": no answer");
    return std::nullopt;
  }
  failure = inspection->failure();
  return inspection->holder();
}

std::shared_ptr<const Record> Slot::recall(Recollection::Kind kind, core::Nanos at_most,
                                           Failure& failure) const {
  if (!client().alive()) {
    failure = client().closed_failure();
    return nullptr;
  }
  const auto recollection = std::make_shared<Recollection>(kind, name());
  const OpenRequest open_request(client(), *recollection);
  if (!recollection->done()) client().backend().recall(recollection);
  if (!client().wait_done(*recollection, at_most)) {
    // What was said may yet be heard.
    const Errc code = kind == Recollection::Kind::forget ? Errc::in_doubt : Errc::unavailable;
    const auto trouble = recollection->trouble();
    failure = {code, trouble ? trouble->text : client().backend().describe() + ": no answer"};
    if (trouble && code == Errc::unavailable) failure = *trouble;
    // Nobody waits for it any more: what has not left is not sent, and a look does not go on to
    // forget what it finds, which may have been recorded since.
    recollection->failed(failure);
    return nullptr;
  }
  failure = recollection->failure();
  return recollection->record();
}

KeyGlance Slot::glance(const Memory& asked) {
  KeyGlance glance;
  if (client().forked()) return glance;
  const SharedName::Lock lock(shared_.mutex);
  const KeyTalk& key = *shared_.key;
  const core::Hold* const live = shared_.state.live();
  const bool differs = key.memory && key.memory->fingerprint != asked.fingerprint;
  if (live == nullptr) {
    glance.others = shared_.state.busy();
    glance.differs = glance.others && differs;
  } else if (live->lease.valid_for(client().now()) > core::Nanos(0)) {
    glance.differs = differs;
    glance.own = key.runner == Owner::this_thread();
    glance.runs = key.record_of_run(live->number);
  }
  return glance;
}

std::optional<Holder> Slot::local_holder() {
  if (client().forked()) return std::nullopt;
  const SharedName::Lock lock(shared_.mutex);
  const core::Hold* const live = shared_.state.live();
  if (live == nullptr) return std::nullopt;
  Holder holder{
      .label = live->terms->label, .token = live->token(), .expires_in = {}, .waiters = {}};
  const core::Nanos left = live->lease.valid_for(client().now());
  if (left != core::Nanos::max()) {
    holder.expires_in = std::chrono::duration_cast<std::chrono::milliseconds>(left);
  }
  return holder;
}

void Slot::poke_waiters() {
  const SharedName::Lock lock(shared_.mutex);
  SharedName::wake_locked(shared_.state.requester());
  for (core::Waiter* const waiter : shared_.state.queue()) SharedName::wake_locked(waiter);
}

}  // namespace mortise::runtime
