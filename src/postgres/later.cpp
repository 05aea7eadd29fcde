// SPDX-License-Identifier: MIT
// Calls whose moment has come are made by whoever polls.
#include "postgres/later.hpp"

#include "postgres/steps.hpp"

#include <utility>
#include <vector>

namespace mortise::postgres {

bool Later::add(Flights&& call, Instant when) {
  const Operation* const key = call.front().operation.get();
  const std::lock_guard lock(mutex_);
  const auto [found, fresh] = places_.try_emplace(key);
  if (!fresh) {
    const auto& [due, there] = *found->second;
    if (due <= when && there.front().kind == call.front().kind) return false;
  }
  // First: where there is no memory for it, what is there stays.
  Calls::Place place;
  try {
    place = calls_.add(when, Flights());
  } catch (...) {
    if (fresh) places_.erase(found);
    throw;
  }
  place->second = std::move(call);
  if (!fresh) calls_.remove(found->second);
  found->second = place;
  return calls_.is_next(place);
}

bool Later::tidy_at(Instant when) { return tidy_time_.set_if_never(when); }

void Later::ready(short /*events*/, Instant now) {
  Steps steps;
  const bool tidies = tidy_time_.take(now);
  if (tidies) steps.make(tidy_);
  std::vector<Flights> due;
  steps.make([&] {
    const std::lock_guard lock(mutex_);
    due = calls_.take(now);
    for (const Flights& call : due) places_.erase(call.front().operation.get());
  });
  for (Flights& call : due) steps.make([&] { make_(std::move(call)); });
  // Also what there was no memory to look at before.
  if (tidies || attempts_.next_look() <= now) {
    steps.make([&] {
      for (const auto& operation : attempts_.begin_looks(now, tidies)) {
        steps.make([&] { look_(operation); });
      }
    });
  }
  steps.rethrow();
}

}  // namespace mortise::postgres
