// SPDX-License-Identifier: MIT
// A hold has to be freed wherever it may have a vote, also a vote that a server has cast after the
// majority's. So which servers those are is kept with the hold, until its release is answered.
#include "redlock/holds.hpp"

#include <mortise/capabilities.hpp>

#include "core/figures.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redlock {
namespace {

// Of a hold that lapsed the library does not tell; its unlock may come late.
constexpr std::chrono::minutes memory_of_the_lapsed{2};
constexpr std::size_t fewest_to_sweep = 1024;

}  // namespace

Instant end_of_hold(Instant counted_from, std::chrono::nanoseconds lease) noexcept {
  const SafetyMargin margin;
  const core::Nanos unusable = lease / 1000 * core::drift_permille +
                               std::max<core::Nanos>(lease / 1000 * margin.permille, margin.least);
  return counted_from + lease - unusable;
}

void Holds::add(const HoldId& hold, Instant until, Trail&& maybe, Instant now) {
  const std::lock_guard lock(mutex_);
  if (entries_.size() >= sweep_at_) {
    std::erase_if(entries_, [&](const auto& entry) {
      return now - entry.second.until > memory_of_the_lapsed;
    });
    sweep_at_ = std::max(fewest_to_sweep, entries_.size() * 2);
  }
  Entry& entry = entries_[hold.attempt];
  entry.hold = hold;
  entry.until = until;
  entry.maybe = std::move(maybe);
}

bool Holds::stands(const HoldId& hold, Instant now) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(hold.attempt);
  return found != entries_.end() && same(found->second.hold, hold) && !found->second.freeing &&
         now < found->second.until;
}

void Holds::extend(const HoldId& hold, Instant until) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(hold.attempt);
  if (found == entries_.end() || !same(found->second.hold, hold)) return;
  found->second.until = std::max(found->second.until, until);
}

bool Holds::voted(const HoldId& hold, const Trail::Stop& stop) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(hold.attempt);
  if (found == entries_.end() || found->second.freeing) return false;
  static_cast<void>(found->second.maybe.add(stop));
  return true;
}

std::vector<std::shared_ptr<Freeing>> Holds::renewed(const std::vector<Renewal::Item>& items,
                                                     const std::vector<int>& answers,
                                                     const Trail::Stop& stop) {
  std::vector<std::shared_ptr<Freeing>> released;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!renews(answers[i])) continue;
    const auto found = entries_.find(items[i].hold.attempt);
    if (found == entries_.end()) {
      // It was released, and a majority has said so: this answer was not read yet.
      released.push_back(std::make_shared<Freeing>(std::make_shared<Release>(items[i].hold), true,
                                                   stop.asked + items[i].lease));
      continue;
    }
    if (!found->second.maybe.add(stop)) continue;
    if (found->second.freeing) released.push_back(found->second.freeing);
  }
  return released;
}

Holds::End Holds::end(const std::shared_ptr<Release>& release) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(release->hold().attempt);
  End end{.fresh = true};
  if (found == entries_.end() || !same(found->second.hold, release->hold())) {
    end.freeing = std::make_shared<Freeing>(release, false, Instant{});
    return end;
  }
  Entry& entry = found->second;
  end.maybe = entry.maybe;
  end.known = true;
  end.fresh = !entry.freeing || entry.freeing->release != release;
  if (end.fresh) {
    entry.freeing = std::make_shared<Freeing>(release, true, entry.until + end_at_the_servers);
  }
  end.freeing = entry.freeing;
  return end;
}

void Holds::forget(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  entries_.erase(attempt);
}

}  // namespace mortise::redlock
