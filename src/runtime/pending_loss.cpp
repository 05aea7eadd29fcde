// SPDX-License-Identifier: MIT
#include "runtime/pending_loss.hpp"

#include <mortise/guard.hpp>

#include "runtime/hold_query.hpp"
#include "runtime/slot.hpp"

#include <utility>

namespace mortise {

Pending<bool> Guard::lost_async() const {
  if (!slot_) throw Error({Errc::not_owner, "lost_async(): the guard is empty"});
  return Pending<bool>(std::make_shared<runtime::PendingLoss>(slot_, owner_, mode_));
}

namespace runtime {

PendingLoss::PendingLoss(const std::shared_ptr<Slot>& slot, Owner owner, Mode mode)
    : PendingCall(slot->client().shared_from_this()), slot_(slot), owner_(owner), mode_(mode) {}

PendingLoss::~PendingLoss() {
  on_loss_.reset();
  drop(std::move(slot_));
}

void PendingLoss::begin() {
  lost_ = watch_loss(*slot_, owner_, mode_, {.call = weak_from_this(), .was_lost = seen_});
  on_loss_.emplace(lost_, [this] { wake(); });
  slot_.reset();
}

bool PendingLoss::step() noexcept {
  was_lost_ = seen_->load() || lost_.stop_requested() || !client().alive();
  return was_lost_ || is_given_up() || !lost_.stop_possible();
}

void PendingLoss::deliver(detail::Handler* handler) noexcept {
  on_loss_.reset();
  bool result = was_lost_;
  hand_over(handler, &result);
}

}  // namespace runtime
}  // namespace mortise
