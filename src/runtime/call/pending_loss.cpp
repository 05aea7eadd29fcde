// SPDX-License-Identifier: MIT
#include "runtime/call/pending_loss.hpp"

#include <mortise/error.hpp>
#include <mortise/guard.hpp>

#include "runtime/client/client_state.hpp"
#include "runtime/hold/hold_query.hpp"
#include "runtime/hold/slot.hpp"

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

// A closed client has lost its holds. If this call threw, the work next to it would go on.
void PendingLoss::start(std::unique_ptr<detail::Handler> handler, Executor* executor) {
  accept(std::move(handler), executor);
  try {
    return start_accepted();
  } catch (const Error& error) {
    if (error.code() != Errc::closed || client().forked()) throw;
  }
  was_lost_ = true;
  end_elsewhere();
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
