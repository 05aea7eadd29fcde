// SPDX-License-Identifier: MIT
// What readers have more: a hold that several owners have together.
#include "base/mutant.hpp"
#include "core/name_state.hpp"

#include <algorithm>
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
  if (has_lost(waiter.owner)) return Entry::wait;
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
  return hold_ && !sharers_ ? queue_.find(hold_->owner, true) : nullptr;
}

Waiter* NameState::join_waiter(Instant now, const TurnLimits& turn) noexcept {
  if (!sharers_) return nullptr;
  // Only the newest reader can have another waiter: one that came earlier found it here when it
  // became a reader.
  Sharer* const newest = sharers_->find(sharers_->newest());
  Waiter* joined = newest != nullptr ? queue_.find(newest->owner, true) : nullptr;
  if (joined != nullptr) {
    ++newest->depth;
    queue_.remove(*joined);
  } else if (!hold_ && !queue_.empty() && queue_.front()->terms->mode == Mode::shared &&
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
  std::vector<Sharer>& all = sharers_->all();
  all.erase(all.begin() + (&own - all.data()));
  if (!all.empty()) return departure;
  sharers_.reset();
  departure.exit = Exit::release;
  departure.next = hold_ ? nullptr : successor();
  ++releasing_;
  return departure;
}

NameState::Loss NameState::lose_shared(bool sent_first) noexcept {
  Loss loss{.ended = std::move(sharers_->hold()), .sharers = std::move(sharers_->all())};
  sharers_.reset();
  loss.ended.lease.refused();
  // There is room for each of them since it joined: a loss needs no memory.
  for (const Sharer& sharer : loss.sharers) {
    lost_.push_back({.owner = sharer.owner,
                     .depth = sharer.depth,
                     .token = loss.ended.token(),
                     .lost = sharer.lost,
                     .guards = sharer.guards,
                     .mode = Mode::shared});
    if (base::mutant("core.one_sharer_learns_the_loss")) break;
  }
  if (sent_first) ++releasing_;
  loss.next = choose_requester();
  return loss;
}

NameState::Loss NameState::lose_part(Instant now) noexcept {
  std::vector<Sharer>& all = sharers_->all();
  const auto part = std::find_if(all.begin(), all.end(),
                                 [&](const Sharer& sharer) { return now >= sharer.until; });
  assert(part != all.end() && all.size() > 1);
  Loss loss{.ended = part_of(sharers_->hold(), *part)};
  lost_.push_back({.owner = part->owner,
                   .depth = part->depth,
                   .token = loss.ended.token(),
                   .lost = part->lost,
                   .guards = part->guards,
                   .mode = Mode::shared});
  all.erase(part);
  return loss;
}

}  // namespace mortise::core
