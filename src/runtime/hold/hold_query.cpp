// SPDX-License-Identifier: MIT
// The answers from the state of a slot, and from the server.
#include "runtime/hold/hold_query.hpp"

#include "runtime/call/asking.hpp"
#include "runtime/client/client_state.hpp"
#include "runtime/client/feature_support.hpp"
#include "runtime/hold/slot.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace mortise::runtime {
namespace {

Token token_locked(Slot& slot, Owner owner, Mode mode) noexcept {
  const core::Hold* const live = slot.state.held_by(owner, mode);
  if (live != nullptr) return live->token();
  const core::LostHold* const lost = slot.state.lost().find(owner, mode);
  return lost != nullptr ? lost->token : Token();
}

/// @return null: the owner has no live hold.
core::LossNotice* notice_locked(Slot& slot, Owner owner, Mode mode) {
  core::Hold* const live = slot.state.held_by(owner, mode);
  if (live == nullptr) return nullptr;
  const bool shared = mode == Mode::shared;
  auto& notice = shared ? slot.state.sharers()->find(owner)->notice : live->notice;
  if (!notice) notice = std::make_unique<LossTask>();
  return notice.get();
}

std::stop_token lost_locked(Slot& slot, Owner owner, Mode mode) {
  core::LossNotice* const notice = notice_locked(slot, owner, mode);
  if (notice != nullptr) return notice->lost.get_token();
  core::LostHold* const lost = slot.state.lost().find(owner, mode);
  return lost != nullptr ? lost->stopped() : std::stop_token();
}

}  // namespace

std::size_t hold_count(Slot& slot, Owner owner, Mode mode) {
  if (slot.client().forked()) return 0;
  owner = owner.or_this_thread();
  const Slot::Lock lock(slot.mutex);
  const core::Hold* const live = slot.state.held_by(owner, mode);
  if (live != nullptr) {
    return mode == Mode::shared ? slot.state.sharers()->find(owner)->depth : live->depth;
  }
  const core::LostHold* const lost = slot.state.lost().find(owner, mode);
  return lost != nullptr ? lost->depth : 0;
}

Token token_of(Slot& slot, Owner owner, Mode mode) {
  if (slot.client().forked()) return {};
  owner = owner.or_this_thread();
  const Slot::Lock lock(slot.mutex);
  return token_locked(slot, owner, mode);
}

core::Nanos valid_for(Slot& slot, Owner owner, Mode mode) {
  if (slot.client().forked()) return core::Nanos(0);
  owner = owner.or_this_thread();
  const Slot::Lock lock(slot.mutex);
  const core::Hold* const live = slot.state.held_by(owner, mode);
  // The clock is read under the mutex: a renewal that came in between must not let a later look
  // say more than zero after an earlier one said zero.
  if (live == nullptr) return core::Nanos(0);
  return live->lease.valid_for(slot.client().now());
}

std::stop_token lost(Slot& slot, Owner owner, Mode mode) {
  if (slot.client().forked()) return {};
  owner = owner.or_this_thread();
  const Slot::Lock lock(slot.mutex);
  return lost_locked(slot, owner, mode);
}

std::stop_token watch_loss(Slot& slot, Owner owner, Mode mode, LossTask::Watch call) {
  const Slot::Lock lock(slot.mutex);
  core::LossNotice* const notice = notice_locked(slot, owner, mode);
  if (notice != nullptr) static_cast<LossTask*>(notice)->watch(std::move(call));
  return lost_locked(slot, owner, mode);
}

Guarded guard(Slot& slot, Owner owner, Mode mode) {
  if (slot.client().forked()) return {};
  const Slot::Lock lock(slot.mutex);
  slot.state.change_guards(owner, 1, mode);
  return {token_locked(slot, owner, mode), lost_locked(slot, owner, mode)};
}

void guarded(Slot& slot, Owner owner, Mode mode) noexcept {
  if (slot.client().forked()) return;
  const Slot::Lock lock(slot.mutex);
  slot.state.change_guards(owner, 1, mode);
}

std::optional<Holder> local_holder(Slot& slot) {
  if (slot.client().forked()) return std::nullopt;
  const Slot::Lock lock(slot.mutex);
  const core::Hold* live = slot.state.live();
  if (live == nullptr) live = slot.state.live(Mode::shared);
  if (live == nullptr) return std::nullopt;
  Holder holder{.label = live->terms->label,
                .token = live->token(),
                .expires_in = {},
                .waiters = {},
                .mode = live->terms->mode};
  const core::Nanos left = live->lease.valid_for(slot.client().now());
  if (left != core::Nanos::max()) {
    holder.expires_in = std::chrono::duration_cast<std::chrono::milliseconds>(left);
  }
  return holder;
}

KeyGlance glance(Slot& slot, const Memory& asked, Owner asker) {
  KeyGlance glance;
  if (slot.client().forked()) return glance;
  const Slot::Lock lock(slot.mutex);
  const KeyTalk& key = *slot.key;
  const core::Hold* const live = slot.state.live();
  const bool differs = key.memory && key.memory->fingerprint != asked.fingerprint;
  if (live == nullptr) {
    glance.others = slot.state.busy();
    glance.differs = glance.others && differs;
  } else if (live->lease.valid_for(slot.client().now()) > core::Nanos(0)) {
    glance.differs = differs;
    glance.own = key.begun_by == asker;
    glance.runs = key.record_of_run(live->number);
  }
  return glance;
}

std::optional<Holder> ask_holder(Slot& slot, Failure& failure) {
  if (slot.client().alive())
    failure = check_support(slot.client().store().backend(), Feature::holders);
  if (failure) return std::nullopt;
  const auto inspection = std::make_shared<Inspection>(slot.name());
  failure = ask(slot.client(), *inspection, std::chrono::seconds(1), Errc::unavailable,
                [&](Backend& backend) { backend.inspector()->inspect(inspection); });
  return failure ? std::nullopt : inspection->holder();
}

std::shared_ptr<const Record> recall(Slot& slot, Recollection::Kind kind, core::Nanos at_most,
                                     Failure& failure, const std::stop_token& stop) {
  const auto recollection = std::make_shared<Recollection>(kind, slot.name());
  const std::stop_callback on_stop(stop, [&recollection] {
    recollection->failed({Errc::cancelled, std::string()});
  });
  // A request to forget that was not answered may still be carried out.
  const Errc late = kind == Recollection::Kind::forget ? Errc::in_doubt : Errc::unavailable;
  failure = ask(slot.client(), *recollection, at_most, late,
                [&](Backend& backend) { backend.records()->recall(recollection); });
  return failure ? nullptr : recollection->record();
}

}  // namespace mortise::runtime
