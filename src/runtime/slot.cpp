// SPDX-License-Identifier: MIT
// A caller comes in, a hold begins, and what a caller can ask about its hold.
#include "runtime/slot.hpp"

#include "runtime/acquire_call.hpp"
#include "runtime/asking.hpp"
#include "runtime/client_state.hpp"
#include "runtime/loss_task.hpp"
#include "runtime/raise.hpp"
#include "runtime/release_call.hpp"

#include <system_error>
#include <utility>

namespace mortise::runtime {

Slot::Slot(std::shared_ptr<ClientState> client, std::string name, Mode mode, Owner owner)
    : owner_(owner),
      shared_{.client = std::move(client),
              .name = std::move(name),
              .key = mode == Mode::once ? std::make_unique<KeyTalk>() : nullptr},
      keeper_(*this, shared_, Mode::exclusive) {}

Slot::~Slot() {
  const std::unique_ptr<HoldKeeper> sharing(sharing_.load());
  // Nobody else has a reference any more: the mutex is not needed.
  each_keeper([](HoldKeeper& keeper) { keeper.disarm_locked(); });
  client().slots(mode()).forget(*this);
}

Failure Slot::acquire(const std::shared_ptr<const core::Terms>& terms,
                      const AcquireOptions& options, std::optional<Holder>* holder, KeyCall* key,
                      Grace* grace) {
  // An observer may destroy whatever else keeps this slot, and with it the client. Nobody else may:
  // who destroys a lock that is in use loses this frame as well.
  const std::shared_ptr<Slot> keep = client().observer() != nullptr ? shared_from_this() : nullptr;
  AcquireCall call(*this, terms, options, key, Queueing::joins, grace);
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

Released Slot::release(Owner owner, Mode mode, Failure& failure) {
  return ReleaseCall(*this, {.owner = owner, .mode = mode}).run(failure);
}

Slot::Guarded Slot::guard(Owner owner, Mode mode) {
  if (client().forked()) return {};
  const SharedName::Lock lock(shared_.mutex);
  shared_.state.guard_comes(owner, mode);
  return {token_locked(owner, mode), lost_locked(owner, mode)};
}

Released Slot::release_guard(Owner owner, Mode mode, Failure& failure) {
  return ReleaseCall(*this, {.owner = owner, .mode = mode, .by = Unlocking::guard}).run(failure);
}

void Slot::guarded(Owner owner, Mode mode) noexcept {
  if (client().forked()) return;
  const SharedName::Lock lock(shared_.mutex);
  shared_.state.guard_comes(owner, mode);
}

Released Slot::conclude(Owner owner, KeyEnding* ending, Failure& failure) {
  return ReleaseCall(*this, {.owner = owner, .ending = ending}).run(failure);
}

HoldKeeper& Slot::keeper_to_be_locked(Mode mode) {
  if (mode == Mode::shared && sharing_.load() == nullptr) {
    sharing_.store(std::make_unique<HoldKeeper>(*this, shared_, Mode::shared).release());
  }
  return keeper(mode);
}

void Slot::granted_locked(AcquireCall& call, core::Hold&& hold) {
  // What needs memory, or a thread, comes first: where there is none, the hold is not recorded, and
  // the call that fails gives it back.
  keeper_.forget_the_dead_locked();
  std::unique_ptr<core::Sharers> room = shared_.state.expect_grant(call.terms->mode);
  keeper_to_be_locked(call.terms->mode).begin_locked(hold.lease);
  shared_.state.granted(call, std::move(hold), std::move(room));
  shared_.wake_reentered_locked();
  shared_.wake_joined_locked();
}

bool Slot::expire_locked(Instant now, Aftermath& aftermath) {
  if (HoldKeeper* const sharing = sharing_.load()) {
    sharing->expire_locked(now, aftermath);
    if (aftermath.loss) return true;
  }
  keeper_.expire_locked(now, aftermath);
  return false;
}

std::size_t Slot::hold_count(Owner owner, Mode mode) {
  if (client().forked()) return 0;
  owner = owner.or_this_thread();
  const SharedName::Lock lock(shared_.mutex);
  const core::Hold* const live = shared_.state.held_by(owner, mode);
  if (live != nullptr) {
    return mode == Mode::shared ? shared_.state.sharers()->find(owner)->depth : live->depth;
  }
  const core::LostHold* const lost = shared_.state.lost_hold(owner, mode);
  return lost != nullptr ? lost->depth : 0;
}

Token Slot::token(Owner owner, Mode mode) {
  if (client().forked()) return {};
  owner = owner.or_this_thread();
  const SharedName::Lock lock(shared_.mutex);
  return token_locked(owner, mode);
}

Token Slot::token_locked(Owner owner, Mode mode) noexcept {
  const core::Hold* const live = shared_.state.held_by(owner, mode);
  if (live != nullptr) return live->token();
  const core::LostHold* const lost = shared_.state.lost_hold(owner, mode);
  return lost != nullptr ? lost->token : Token();
}

core::Nanos Slot::valid_for(Owner owner, Mode mode) {
  if (client().forked()) return core::Nanos(0);
  owner = owner.or_this_thread();
  const SharedName::Lock lock(shared_.mutex);
  const core::Hold* const live = shared_.state.held_by(owner, mode);
  // The clock is read under the mutex: a renewal that came in between must not let a later look
  // say more than zero after an earlier one said zero.
  if (live == nullptr) return core::Nanos(0);
  return live->lease.valid_for(client().now());
}

std::stop_token Slot::lost(Owner owner, Mode mode) {
  if (client().forked()) return {};
  owner = owner.or_this_thread();
  const SharedName::Lock lock(shared_.mutex);
  return lost_locked(owner, mode);
}

std::stop_token Slot::lost_locked(Owner owner, Mode mode) {
  core::Hold* const live = shared_.state.held_by(owner, mode);
  if (live != nullptr) {
    const bool shared = mode == Mode::shared;
    auto& notice = shared ? shared_.state.sharers()->find(owner)->notice : live->notice;
    if (!notice) notice = std::make_unique<LossTask>();
    return notice->lost.get_token();
  }
  core::LostHold* const lost = shared_.state.lost_hold(owner, mode);
  return lost != nullptr ? lost->stopped() : std::stop_token();
}

std::optional<Holder> Slot::holder(Failure& failure) const {
  const auto inspection = std::make_shared<Inspection>(name());
  failure = ask(client(), *inspection, std::chrono::seconds(1), Errc::unavailable,
                [&](Backend& backend) { backend.inspect(inspection); });
  return failure ? std::nullopt : inspection->holder();
}

std::shared_ptr<const Record> Slot::recall(Recollection::Kind kind, core::Nanos at_most,
                                           Failure& failure, const std::stop_token& stop) const {
  const auto recollection = std::make_shared<Recollection>(kind, name());
  const std::stop_callback on_stop(stop, [&recollection] {
    recollection->failed({Errc::cancelled, std::string()});
  });
  // A request to forget that was not answered may still be carried out.
  const Errc late = kind == Recollection::Kind::forget ? Errc::in_doubt : Errc::unavailable;
  failure = ask(client(), *recollection, at_most, late,
                [&](Backend& backend) { backend.recall(recollection); });
  return failure ? nullptr : recollection->record();
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
    glance.own = key.begun_by == Owner::this_thread();
    glance.runs = key.record_of_run(live->number);
  }
  return glance;
}

std::optional<Holder> Slot::local_holder() {
  if (client().forked()) return std::nullopt;
  const SharedName::Lock lock(shared_.mutex);
  const core::Hold* live = shared_.state.live();
  if (live == nullptr) live = shared_.state.live(Mode::shared);
  if (live == nullptr) return std::nullopt;
  Holder holder{.label = live->terms->label,
                .token = live->token(),
                .expires_in = {},
                .waiters = {},
                .mode = live->terms->mode};
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
