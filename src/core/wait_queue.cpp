// SPDX-License-Identifier: MIT
#include "core/wait_queue.hpp"

#include "core/terms.hpp"

namespace mortise::core {

namespace {

// A scan of this many waiters costs no more than the table.
constexpr std::size_t longest_scan = 8;

bool matches(const Waiter& waiter, Owner owner, bool shared) noexcept {
  return waiter.owner == owner && (waiter.terms->mode == Mode::shared) == shared;
}

}  // namespace

// Owners are numbered in order, threads and tasks apart, so a multiplication spreads them (Knuth,
// The Art of Computer Programming, volume 3, section 6.4).
std::size_t WaitQueue::chain_of(Owner owner) const noexcept {
  constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;
  return ((owner.id() * golden) >> 32U) & (chains_->size() - 1);
}

void WaitQueue::add_to(Chain& chain, Waiter& waiter) noexcept {
  waiter.place.before_in_chain = chain.last;
  waiter.place.after_in_chain = nullptr;
  (chain.last != nullptr ? chain.last->place.after_in_chain : chain.first) = &waiter;
  chain.last = &waiter;
}

void WaitQueue::grow() {
  chains_ = std::make_unique<std::vector<Chain>>(chains_ ? 2 * chains_->size() : 4 * longest_scan);
  for (Waiter* const each : *this) add_to((*chains_)[chain_of(each->owner)], *each);
}

void WaitQueue::push_back(Waiter& waiter) {
  const std::size_t room = chains_ ? chains_->size() : longest_scan;
  if (size_ >= room) grow();
  waiter.place = {.before = last_, .queued = true};
  (last_ != nullptr ? last_->place.after : first_) = &waiter;
  last_ = &waiter;
  ++size_;
  if (chains_) add_to((*chains_)[chain_of(waiter.owner)], waiter);
}

void WaitQueue::remove(Waiter& waiter) noexcept {
  QueuePlace& place = waiter.place;
  if (!place.queued) return;
  (place.before != nullptr ? place.before->place.after : first_) = place.after;
  (place.after != nullptr ? place.after->place.before : last_) = place.before;
  if (chains_) {
    Chain& chain = (*chains_)[chain_of(waiter.owner)];
    (place.before_in_chain != nullptr ? place.before_in_chain->place.after_in_chain : chain.first) =
        place.after_in_chain;
    (place.after_in_chain != nullptr ? place.after_in_chain->place.before_in_chain : chain.last) =
        place.before_in_chain;
  }
  place = {};
  // A table that has grown takes as much memory as its waiters did.
  if (--size_ == 0) chains_.reset();
}

Waiter* WaitQueue::find(Owner owner, bool shared) const noexcept {
  if (!chains_) {
    for (Waiter* const each : *this) {
      if (matches(*each, owner, shared)) return each;
    }
    return nullptr;
  }
  for (Waiter* at = (*chains_)[chain_of(owner)].first; at != nullptr;
       at = at->place.after_in_chain) {
    if (matches(*at, owner, shared)) return at;
  }
  return nullptr;
}

}  // namespace mortise::core
