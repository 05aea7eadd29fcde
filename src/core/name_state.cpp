// SPDX-License-Identifier: MIT
// Who holds, who requests and who waits: each transition moves at most one waiter on, which it
// returns for the caller to wake.
#include "core/name_state.hpp"

#include "base/mutant.hpp"
#include "core/keeping.hpp"

#include <algorithm>
#include <cassert>

namespace mortise::core {

NameState::Entry NameState::enter(Waiter& waiter, bool may_wait) {
  if (hold_ && hold_->owner == waiter.owner) {
    ++hold_->depth;
    return Entry::reentered;
  }
  // The owner believes that it holds the name: it must unlock before it may try again.
  if (lost_hold(waiter.owner) != nullptr && !base::mutant("core.lost_hold_is_reentered")) {
    return Entry::lost;
  }
  // Not while a release is about to leave: a request that overtook it would find our own hold.
  if (!hold_ && requester_ == nullptr && !releasing_ && queue_.empty()) {
    requester_ = &waiter;
    waiter.wakeup = Waiter::Wakeup::ask;
    return Entry::ask;
  }
  if (!may_wait) return Entry::busy;
  queue_.push_back(&waiter);
  return Entry::wait;
}

void NameState::expect_grant() { lost_.reserve(lost_.size() + 1); }

void NameState::granted(Waiter& requester, Hold&& hold) {
  assert(requester_ == &requester && !hold_);
  static_cast<void>(requester);
  requester_ = nullptr;
  hold_.emplace(std::move(hold));
}

Waiter* NameState::reenter_waiter() noexcept {
  const auto found = std::find_if(queue_.begin(), queue_.end(), [this](const Waiter* waiter) {
    return waiter->owner == hold_->owner;
  });
  if (found == queue_.end()) return nullptr;
  Waiter* const waiter = *found;
  queue_.erase(found);
  waiter->wakeup = Waiter::Wakeup::held;
  ++hold_->depth;
  return waiter;
}

Waiter* NameState::leave(Waiter& waiter) {
  if (requester_ == &waiter) {
    requester_ = nullptr;
  } else {
    std::erase(queue_, &waiter);
  }
  return choose_requester();
}

Waiter* NameState::choose_requester() {
  if (hold_ || releasing_ || requester_ != nullptr || queue_.empty()) return nullptr;
  requester_ = queue_.front();
  queue_.erase(queue_.begin());
  requester_->wakeup = Waiter::Wakeup::ask;
  return requester_;
}

bool NameState::may_pass(Instant now, const TurnLimits& turn) const {
  return !queue_.empty() && hold_->terms->agrees_with(*queue_.front()->terms) &&
         hold_->passes < turn.passes && now - hold_->granted_at < turn.time &&
         hold_->lease.fit_to_pass(now) && !Keeping::due(*hold_, now);
}

NameState::Departure NameState::unlock(Owner owner, Instant now, const TurnLimits& turn) {
  if (!hold_ || hold_->owner != owner) {
    LostHold* const lost = lost_hold(owner);
    if (lost == nullptr) return {};
    if (--lost->depth == 0) std::erase_if(lost_, [&](const LostHold& l) { return &l == lost; });
    return {.exit = Exit::was_lost};
  }
  if (--hold_->depth > 0 && !base::mutant("core.inner_unlock_frees")) return {.exit = Exit::nested};
  return may_pass(now, turn) ? pass(now) : end_hold();
}

NameState::Departure NameState::pass(Instant now) {
  Departure departure{.exit = Exit::passed, .next = queue_.front(), .ended = *hold_};
  queue_.erase(queue_.begin());
  departure.next->wakeup = Waiter::Wakeup::held;
  hold_->owner = departure.next->owner;
  hold_->terms = departure.next->terms;
  hold_->depth = 1;
  hold_->guards = 0;
  hold_->owned_since = now;
  hold_->lost = std::stop_source(std::nostopstate);  // each owner learns its own loss only
  hold_->lease.passed(now);
  if (!base::mutant("core.token_stays_at_a_hand_over")) ++hold_->passes;
  return departure;
}

NameState::Departure NameState::end_hold() {
  Departure departure{.exit = Exit::release,
                      .next = queue_.empty() ? nullptr : queue_.front(),
                      .ended = std::move(hold_)};
  hold_.reset();
  releasing_ = true;
  return departure;
}

Waiter* NameState::release_sent() {
  releasing_ = false;
  return choose_requester();
}

std::optional<NameState::Loss> NameState::lose(std::uint64_t generation, bool sent_first) noexcept {
  if (!hold_ || hold_->generation != generation) return std::nullopt;
  std::optional<Loss> loss(std::in_place);
  loss->ended = std::move(*hold_);
  hold_.reset();
  loss->ended.lease.refused();
  // `expect_grant()` made room for it: a loss needs no memory.
  lost_.push_back({.owner = loss->ended.owner,
                   .depth = loss->ended.depth,
                   .token = loss->ended.token(),
                   .lost = loss->ended.lost,
                   .guards = loss->ended.guards});
  releasing_ = sent_first;
  loss->next = choose_requester();
  return loss;
}

void NameState::guard_comes(Owner owner) noexcept {
  if (hold_ && hold_->owner == owner) {
    ++hold_->guards;
  } else if (LostHold* const lost = lost_hold(owner)) {
    ++lost->guards;
  }
}

void NameState::guard_leaves(Owner owner) noexcept {
  // None where somebody has unlocked behind its back.
  const auto leaves = [](std::uint32_t& guards) {
    if (guards > 0) --guards;
  };
  if (hold_ && hold_->owner == owner) {
    leaves(hold_->guards);
  } else if (LostHold* const lost = lost_hold(owner)) {
    leaves(lost->guards);
  }
}

LostHold* NameState::lost_hold(Owner owner) noexcept {
  const auto found =
      std::find_if(lost_.begin(), lost_.end(), [&](const LostHold& l) { return l.owner == owner; });
  return found == lost_.end() ? nullptr : &*found;
}

}  // namespace mortise::core
