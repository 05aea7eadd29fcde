// SPDX-License-Identifier: MIT
#include "redis/attempts.hpp"

#include "core/figures.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis {
namespace {

// As long as the server refuses late copies (scripts/lock.lua, BURIED); later ones do not exist.
constexpr std::chrono::minutes stray_time{2};

}  // namespace

Instant Reading::not_later_than(ServerTime moment) const noexcept {
  if (moment <= at) {
    const std::chrono::nanoseconds before = at - moment;
    return asked - before - before * core::drift_permille / 1000;
  }
  const std::chrono::nanoseconds after = moment - at;
  return asked + after - after * core::drift_permille / 1000;
}

bool Attempts::asked(const Operation& operation, std::uint64_t epoch) {
  const AttemptId& attempt = operation->request().attempt;
  const std::lock_guard lock(mutex_);
  if (operation->done()) return false;  // decided meanwhile: it must not come back here
  Pending& pending = pending_[attempt];
  pending.operation = operation;
  pending.epoch = std::max(pending.epoch, epoch);
  if (epoch != 0) ++pending.open;
  return !strays_.empty() && strays_.contains(attempt);
}

void Attempts::refused(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  if (found == pending_.end()) return;
  Pending& pending = found->second;
  if (--pending.open == 0 && !pending.reading && !strays_.contains(attempt)) pending.epoch = 0;
}

bool Attempts::cancelled(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(operation->request().attempt);
  if (found == pending_.end()) return operation->progress() != Acquisition::Progress::unsent;
  if (found->second.epoch == 0) {
    pending_.erase(found);
    return false;
  }
  found->second.cancelled = true;
  return true;
}

bool Attempts::is_cancelled(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  return found == pending_.end() || found->second.cancelled;
}

bool Attempts::has_copies(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  return strays_.contains(attempt);
}

std::optional<Push> Attempts::waits(const AttemptId& attempt, const Reading& reading) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  if (found == pending_.end()) return std::nullopt;
  found->second.reading = reading;
  std::optional<Push> early = std::move(found->second.early);
  if (early) pending_.erase(found);  // it is believed now
  return early;
}

void Attempts::decided(const AttemptId& attempt, bool push_may_come) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  if (found == pending_.end()) return;
  if (push_may_come && !found->second.early) told_.emplace(attempt, true);
  pending_.erase(found);
}

void Attempts::released(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  if (!told_.empty()) told_.erase(attempt);
}

Attempts::Verdict Attempts::granted(const Push& push) {
  using enum Verdict::Kind;
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(push.attempt);
  if (found == pending_.end()) {
    // Told by a reply already: no grant to nobody. Releasing it would end a hold that is in use.
    return {.kind = told_.erase(push.attempt) != 0 ? known : ghost};
  }
  Pending& pending = found->second;
  Operation operation = pending.operation.lock();
  if (!operation) {
    pending_.erase(found);
    return {.kind = ghost};
  }
  if (!pending.reading) {
    pending.early = push;
    return {.kind = later, .operation = std::move(operation)};
  }
  Verdict verdict{.kind = believe, .operation = std::move(operation), .reading = *pending.reading};
  pending_.erase(found);
  return verdict;
}

Attempts::Operation Attempts::find(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  return found == pending_.end() ? nullptr : found->second.operation.lock();
}

void Attempts::unanswered(const AttemptId& attempt, bool release, Instant now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(strays_, [&](const auto& stray) { return now - stray.second.since > stray_time; });
  Stray& stray = strays_[attempt];
  stray.since = now;
  stray.release = stray.release || release;
}

bool Attempts::release_in_doubt(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  const auto found = strays_.find(attempt);
  return found != strays_.end() && found->second.release;
}

void Attempts::forget_readings() {
  const std::lock_guard lock(mutex_);
  for (auto& [attempt, pending] : pending_) {
    pending.reading.reset();
    pending.early.reset();
  }
}

std::vector<Attempts::Operation> Attempts::undecided(std::uint64_t newest) const {
  std::vector<Operation> operations;
  const std::lock_guard lock(mutex_);
  for (const auto& [attempt, pending] : pending_) {
    if (pending.cancelled || (newest != 0 && pending.epoch == newest)) continue;
    Operation operation = pending.operation.lock();
    if (operation && !operation->done()) operations.push_back(std::move(operation));
  }
  // First come first served, also after the server has forgotten its queues.
  std::sort(operations.begin(), operations.end(), [](const Operation& a, const Operation& b) {
    return a->request().attempt < b->request().attempt;
  });
  return operations;
}

void Attempts::look_at(const AttemptId& attempt, Instant when) {
  const std::lock_guard lock(mutex_);
  looks_.emplace(when, attempt);
  next_look_.store(looks_.begin()->first.time_since_epoch().count());
}

Instant Attempts::next_look() const noexcept {
  return Instant(Instant::duration(next_look_.load()));
}

std::vector<Attempts::Operation> Attempts::looks(Instant now) {
  std::vector<Operation> due;
  const std::lock_guard lock(mutex_);
  while (!looks_.empty() && looks_.begin()->first <= now) {
    const auto found = pending_.find(looks_.begin()->second);
    looks_.erase(looks_.begin());
    if (found == pending_.end() || found->second.cancelled) continue;
    if (Operation operation = found->second.operation.lock()) due.push_back(std::move(operation));
  }
  next_look_.store((looks_.empty() ? never : looks_.begin()->first).time_since_epoch().count());
  return due;
}

}  // namespace mortise::redis
