// SPDX-License-Identifier: MIT
// Who holds, who requests and who waits. A transition changes that; `serve()` finds the waiters
// that can go on because of it.
#include "core/name_state.hpp"

#include "base/mutant.hpp"
#include "core/keeping.hpp"

#include <cassert>
#include <exception>
#include <utility>

namespace mortise::core {

NameState::Entry NameState::enter(Waiter& waiter, bool may_wait, Instant now,
                                  const TurnLimits& turn) {
  const bool shared = waiter.terms->mode == Mode::shared;
  const std::uint32_t known = waiter.terms->permits > 0 ? permits() : 0;  // a lock has none
  if (known > 0 && known != waiter.terms->permits) return Entry::differs;
  if (!shared && hold_ && hold_->owner == waiter.owner) {
    ++hold_->depth;
    return Entry::reentered;
  }
  const Entry entry = shared ? enter_shared(waiter, now, turn) : Entry::wait;
  if (entry == Entry::reentered || entry == Entry::joined) return entry;
  // The owner believes that it holds the name: it must unlock before it may try again.
  if (lost_.has_any_of(waiter.owner) && !base::mutant("core.lost_hold_is_reentered"))
    return Entry::lost;
  if (!shared && sharers_ && sharers_->find(waiter.owner) != nullptr) return Entry::upgrade;
  // Not while a release is about to leave: a request that overtook it would find our own hold.
  const bool idle = !hold_ && !sharers_ && !releasing_.is_any() && queue_.empty();
  if (requester_ == nullptr && (idle || entry == Entry::ask)) {
    begin_requesting(waiter);
    return Entry::ask;
  }
  if (!may_wait) return Entry::busy;
  queue_.push_back(waiter);
  return Entry::wait;
}

// `wait` stands for all the rest: as any other caller.
NameState::Entry NameState::enter_shared(const Waiter& waiter, Instant now,
                                         const TurnLimits& turn) {
  Sharer* const own = sharers_ ? sharers_->find(waiter.owner) : nullptr;
  if (own != nullptr) {
    ++own->depth;
    return Entry::reentered;
  }
  if (lost_.has_any_of(waiter.owner)) return Entry::wait;
  // Its own hold keeps the name from everybody else, so nobody who waits is overtaken.
  if (hold_) return hold_->owner == waiter.owner ? Entry::ask : Entry::wait;
  const bool in_order = queue_.empty() || base::mutant("core.joins_before_a_writer");
  if (!sharers_ || !in_order || !sharers_->open_to(*waiter.terms, now, turn)) return Entry::wait;
  make_room(1);
  sharers_->join(waiter.owner, waiter.terms, now);
  return Entry::joined;
}

std::uint32_t NameState::permits() const noexcept {
  if (hold_) return hold_->terms->permits;
  if (requester_ != nullptr) return requester_->terms->permits;
  return queue_.empty() ? 0 : queue_.front()->terms->permits;
}

std::unique_ptr<Sharers> NameState::expect_grant(Mode mode) {
  make_room(1);
  return mode == Mode::shared ? std::make_unique<Sharers>() : nullptr;
}

void NameState::make_room(std::size_t owners) {
  lost_.make_room(owners + (hold_ ? 1 : 0) + (sharers_ ? sharers_->all().size() : 0));
}

void NameState::granted(Waiter& requester, Hold&& hold, std::unique_ptr<Sharers> room) {
  assert(requester_ == &requester);
  if (requester.terms->mode == Mode::shared) {
    assert(!sharers_ && room);
    // If it has the number of its owner's hold, its token must not be smaller than that hold's.
    if (hold.number == requester.own_number) hold.passes = requester.own_passes;
    sharers_ = std::move(room);
    sharers_->begin(std::move(hold));
  } else {
    assert(!hold_ && !sharers_);
    hold_.begin(std::move(hold));
  }
  requester_ = nullptr;
}

Waiter* NameState::serve(Instant now, const TurnLimits& turn) noexcept {
  // Two threads use one `Owner`: the owner got the name by a call of the other thread.
  Waiter* waiter =
      hold_ ? queue_.find(hold_->owner, [](const Waiter& w) { return !w.shares(); }) : nullptr;
  if (waiter != nullptr) {
    queue_.remove(*waiter);
    waiter->wakeup = Waiter::Wakeup::held;
    ++hold_->depth;
    return waiter;
  }
  waiter = join(now, turn);
  return waiter != nullptr ? waiter : ask();
}

Waiter* NameState::join(Instant now, const TurnLimits& turn) noexcept {
  if (!sharers_) return nullptr;
  // Only the newest reader can have another waiter: one that came earlier found it here when it
  // became a reader.
  Sharer* const newest = sharers_->all().back();
  Waiter* joined = queue_.find(newest->owner, [](const Waiter& each) { return each.shares(); });
  if (joined != nullptr) {
    ++newest->depth;
    queue_.remove(*joined);
  } else if (!hold_ && !queue_.empty() && queue_.front()->shares() &&
             sharers_->open_to(*queue_.front()->terms, now, turn)) {
    joined = queue_.front();
    try {
      make_room(1);
      sharers_->join(joined->owner, joined->terms, now);
    } catch (const std::exception&) {
      return nullptr;  // out of memory: it is served when this hold has ended
    }
    queue_.remove(*joined);
  }
  if (joined != nullptr) joined->wakeup = Waiter::Wakeup::held;
  return joined;
}

Waiter* NameState::ask() noexcept {
  if (requester_ != nullptr || queue_.empty()) return nullptr;
  const bool held = hold_ || sharers_ || releasing_.is_any();
  Waiter* chosen = held ? nullptr : queue_.front();
  // A reader whose owner has the name exclusively would ask at once if it came now.
  if (hold_ && !sharers_) {
    chosen = queue_.find(hold_->owner, [](const Waiter& each) { return each.shares(); });
  }
  if (chosen == nullptr) return nullptr;
  queue_.remove(*chosen);
  begin_requesting(*chosen);
  return chosen;
}

void NameState::leave(Waiter& waiter) noexcept {
  if (requester_ == &waiter) {
    requester_ = nullptr;
  } else {
    queue_.remove(waiter);
  }
}

void NameState::begin_requesting(Waiter& waiter) noexcept {
  requester_ = &waiter;
  waiter.wakeup = Waiter::Wakeup::ask;
  if (!hold_) return;
  hold_.read_beside();
  waiter.own_number = hold_->number;
  waiter.own_passes = hold_->passes;
}

NameState::Departure NameState::unlock(Owner owner, Instant now, const TurnLimits& turn,
                                       Mode mode) {
  if (held_by(owner, mode) == nullptr) {
    return {.exit = lost_.unlock(owner, mode) ? Exit::was_lost : Exit::not_owner};
  }
  if (mode == Mode::shared) return unlock_shared(owner);
  if (--hold_->depth > 0 && !base::mutant("core.inner_unlock_frees")) return {.exit = Exit::nested};
  const bool passes = !queue_.empty() && hold_.may_pass_to(*queue_.front()->terms, now, turn);
  return passes ? pass(now) : end_hold(now);
}

NameState::Departure NameState::unlock_shared(Owner owner) {
  Sharer& own = *sharers_->find(owner);
  if (--own.depth > 0) return {.exit = Exit::nested};
  Departure departure{.exit = Exit::parted, .ended = part_of(sharers_->hold(), own)};
  departure.ended->notice = std::move(sharers_->leave(own)->notice);
  if (!sharers_->all().empty()) return departure;
  sharers_.reset();
  departure.exit = Exit::release;
  departure.next = hold_ ? nullptr : successor();
  releasing_.begin(queue_.empty() && requester_ == nullptr && !hold_);
  return departure;
}

NameState::Departure NameState::pass(Instant now) {
  Departure departure{.exit = Exit::passed, .next = queue_.front()};
  queue_.remove(*departure.next);
  departure.next->wakeup = Waiter::Wakeup::held;
  Hold passed = hold_->handed_to(departure.next->owner, departure.next->terms, now);
  passed.lease.passed(now, passed.terms->max_hold);
  if (!base::mutant("core.token_stays_at_a_hand_over")) ++passed.passes;
  departure.ended = std::exchange(*hold_, std::move(passed));
  return departure;
}

NameState::Departure NameState::end_hold(Instant now) {
  // Its owner goes on as a reader, and is the last to do so for as long as the name is kept.
  if (sharers_ && Keeping::due(*hold_, now)) sharers_->kept_until(Keeping(*hold_).until());
  Departure departure{.exit = Exit::release, .next = successor(), .ended = hold_.end()};
  releasing_.begin(queue_.empty() && requester_ == nullptr && !sharers_);
  return departure;
}

// Nobody, where the other hold of a downgrade stands: that comes next. Nor beside a requester.
Waiter* NameState::successor() const noexcept {
  const bool none = queue_.empty() || sharers_ || requester_ != nullptr || releasing_.is_any();
  return none ? nullptr : queue_.front();
}

std::optional<NameState::Loss> NameState::lose(std::uint64_t generation, bool sent_first) noexcept {
  if (sharers_ && sharers_->hold().generation == generation) return lose_shared(sent_first);
  if (!hold_ || hold_->generation != generation) return std::nullopt;
  std::optional<Loss> loss(std::in_place);
  loss->ended = hold_.end();
  loss->ended.lease.refused();
  // `expect_grant()` made room for it: a loss needs no memory.
  lost_.add(loss->ended, loss->ended.token(), Mode::exclusive);
  if (sent_first) releasing_.begin(false);
  return loss;
}

NameState::Loss NameState::lose_shared(bool sent_first) noexcept {
  Loss loss{.ended = std::move(sharers_->hold()), .sharers = sharers_->take_parts()};
  sharers_.reset();
  loss.ended.lease.refused();
  // There is room for each of them since it joined: a loss needs no memory.
  for (const Sharer* const sharer : loss.sharers.list()) {
    lost_.add(*sharer, loss.ended.token(), Mode::shared);
    if (base::mutant("core.one_sharer_learns_the_loss")) break;
  }
  if (sent_first) releasing_.begin(false);
  return loss;
}

NameState::Loss NameState::lose_part(Instant now) noexcept {
  assert(now >= sharers_->next_end() && sharers_->all().size() > 1);
  Sharer* part = sharers_->all().front();
  while (now < part->until) part = part->place.after;
  Loss loss{.ended = part_of(sharers_->hold(), *part)};
  lost_.add(*part, loss.ended.token(), Mode::shared);
  loss.ended.notice = std::move(sharers_->leave(*part)->notice);
  return loss;
}

void NameState::change_guards(Owner owner, int by, Mode mode) noexcept {
  std::uint32_t* guards = nullptr;
  if (Hold* const hold = held_by(owner, mode)) {
    guards = mode == Mode::shared ? &sharers_->find(owner)->guards : &hold->guards;
  } else if (LostHold* const lost = lost_.find(owner, mode)) {
    guards = &lost->guards;
  }
  if (guards == nullptr) return;
  if (by > 0) {
    ++*guards;
  } else if (*guards > 0) {  // 0 if another caller has unlocked for the guard's owner
    --*guards;
  }
}

Hold* NameState::held_by(Owner owner, Mode mode) noexcept {
  if (mode != Mode::shared) return hold_ && hold_->owner == owner ? &*hold_ : nullptr;
  return sharers_ && sharers_->find(owner) != nullptr ? &sharers_->hold() : nullptr;
}

}  // namespace mortise::core
