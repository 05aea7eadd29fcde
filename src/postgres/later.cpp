// SPDX-License-Identifier: MIT
#include "postgres/later.hpp"

#include <utility>
#include <vector>

namespace mortise::postgres {

void Later::note_next_locked() {
  next_.store((calls_.empty() ? never : calls_.begin()->first).time_since_epoch().count());
}

bool Later::add(Call call, Instant when) {
  const Operation* const key = call.operation.get();
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(key);
  if (found != places_.end()) {
    const bool sooner = found->second->first <= when;
    if (sooner && found->second->second.kind == call.kind) return false;
    calls_.erase(found->second);
    places_.erase(found);
  }
  const auto place = calls_.emplace(when, std::move(call));
  places_.emplace(key, place);
  note_next_locked();
  return place == calls_.begin();
}

bool Later::tidy_at(Instant when) {
  Instant::rep no = never.time_since_epoch().count();
  return tidy_time_.compare_exchange_strong(no, when.time_since_epoch().count());
}

void Later::ready(short /*events*/, Instant now) {
  if (Instant(Instant::duration(tidy_time_.load())) <= now) {
    tidy_time_.store(never.time_since_epoch().count());
    tidy_();
  }
  std::vector<Call> due;
  {
    const std::lock_guard lock(mutex_);
    while (!calls_.empty() && calls_.begin()->first <= now) {
      Call& call = calls_.begin()->second;
      places_.erase(call.operation.get());
      due.push_back(std::move(call));
      calls_.erase(calls_.begin());
    }
    note_next_locked();
  }
  for (Call& call : due) make_(std::move(call));
}

}  // namespace mortise::postgres
