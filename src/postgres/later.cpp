// SPDX-License-Identifier: MIT
// Calls whose moment has come are made by whoever polls.
#include "postgres/later.hpp"

#include "postgres/steps.hpp"

#include <utility>
#include <vector>

namespace mortise::postgres {

bool Later::add(Call call, Instant when) {
  const Operation* const key = call.operation.get();
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(key);
  if (found != places_.end()) {
    const bool sooner = found->second->first <= when;
    if (sooner && found->second->second.kind == call.kind) return false;
    calls_.remove(found->second);
    places_.erase(found);
  }
  const Calls::Place place = calls_.add(when, std::move(call));
  places_.emplace(key, place);
  return calls_.is_next(place);
}

bool Later::tidy_at(Instant when) { return tidy_time_.set_if_never(when); }

void Later::ready(short /*events*/, Instant now) {
  Steps steps;
  if (tidy_time_.take(now)) steps.make(tidy_);
  std::vector<Call> due;
  steps.make([&] {
    const std::lock_guard lock(mutex_);
    due = calls_.take(now);
    for (const Call& call : due) places_.erase(call.operation.get());
  });
  for (Call& call : due) steps.make([&] { make_(std::move(call)); });
  steps.rethrow();
}

}  // namespace mortise::postgres
