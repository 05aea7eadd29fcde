// SPDX-License-Identifier: MIT
// What readers have more: a hold that several owners have together.
#include "base/mutant.hpp"
#include "core/name_state.hpp"

#include <cassert>
#include <exception>

namespace mortise::core {

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

// Another thread of an owner, which would ask at once if it came now.
Waiter* NameState::beside_its_own_hold() const noexcept {
  if (!hold_ || sharers_) return nullptr;
  return queue_.find(hold_->owner, [](const Waiter& each) { return each.shares(); });
}

Waiter* NameState::join_waiter(Instant now, const TurnLimits& turn) noexcept {
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

NameState::Departure NameState::unlock_shared(Owner owner) {
  Sharer& own = *sharers_->find(owner);
  if (--own.depth > 0) return {.exit = Exit::nested};
  Departure departure{.exit = Exit::parted, .ended = part_of(sharers_->hold(), own)};
  departure.ended->notice = std::move(sharers_->leave(own)->notice);
  if (!sharers_->all().empty()) return departure;
  sharers_.reset();
  departure.exit = Exit::release;
  departure.next = hold_ ? nullptr : successor();
  ++releasing_;
  return departure;
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
  if (sent_first) ++releasing_;
  loss.next = choose_requester();
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

}  // namespace mortise::core
