// SPDX-License-Identifier: MIT
#include "redlock/attempts.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redlock {
namespace {

// The library does not report the end of a hold that lapsed; its unlock may come late.
constexpr std::chrono::minutes memory_of_the_lapsed{2};

}  // namespace

Attempts::Attempt Attempts::find_locked(const AttemptId& id) const {
  for (const Table* const table : {&undecided_, &holds_}) {
    const auto found = table->find(id);
    if (found != table->end()) return found->second;
  }
  return nullptr;
}

Attempts::Attempt Attempts::find(const AttemptId& id) const {
  const std::lock_guard lock(mutex_);
  return find_locked(id);
}

Attempts::Attempt Attempts::find_or_make(const std::shared_ptr<Acquisition>& operation) {
  const AttemptId& id = operation->request().attempt;
  const std::lock_guard lock(mutex_);
  if (Attempt known = find_locked(id)) return known;
  if (is_closed_ || operation->done()) return nullptr;
  sweep();
  return undecided_[id] = std::make_shared<QuorumAttempt>(operation, quorum_);
}

// Cancelled, and given up by the library before enough servers were there to answer: the attempt
// and its ballot have the only references.
void Attempts::sweep() noexcept {
  if (undecided_.size() < sweep_at_) return;
  std::erase_if(undecided_, [](const auto& each) {
    const QuorumAttempt& attempt = *each.second;
    const std::unique_lock lock(each.second->mutex, std::try_to_lock);
    return lock.owns_lock() && attempt.operation.use_count() <= (attempt.ballot ? 2 : 1);
  });
  sweep_at_ = std::max(fewest_to_sweep, undecided_.size() * 2);
}

std::vector<Attempts::Attempt> Attempts::undecided() const {
  std::vector<Attempt> all;
  const std::lock_guard lock(mutex_);
  all.reserve(undecided_.size());
  for (const auto& [id, attempt] : undecided_) all.push_back(attempt);
  return all;
}

void Attempts::won(const QuorumAttempt& attempt, Instant now) {
  const std::lock_guard lock(mutex_);
  if (holds_.size() >= sweep_holds_at_) {
    std::erase_if(holds_, [&](const auto& hold) {
      return now - hold.second->ballot->until.get() > memory_of_the_lapsed;
    });
    sweep_holds_at_ = std::max(fewest_to_sweep, holds_.size() * 2);
  }
  holds_.reserve(holds_.size() + 1);  // or the attempt would be lost without memory
  if (auto node = undecided_.extract(attempt.request().attempt)) holds_.insert(std::move(node));
}

void Attempts::forget(const QuorumAttempt& attempt) noexcept {
  Attempt last;  // destroyed when the mutex is free
  const std::lock_guard lock(mutex_);
  for (Table* const table : {&undecided_, &holds_}) {
    const auto found = table->find(attempt.request().attempt);
    if (found == table->end() || found->second.get() != &attempt) continue;
    last = std::move(found->second);
    table->erase(found);
    return;
  }
}

std::vector<Attempts::Attempt> Attempts::close() {
  std::vector<Attempt> all;
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  for (Table* const table : {&undecided_, &holds_}) {
    for (auto& [id, attempt] : *table) all.push_back(attempt);
  }
  return all;
}

bool Attempts::wake(const Attempt& attempt, Instant when) {
  const std::lock_guard lock(mutex_);
  return alarms_.is_next(alarms_.add(when, attempt));
}

std::vector<Attempts::Attempt> Attempts::take_due(Instant now) {
  std::vector<Attempt> due;
  if (alarms_.next() > now) return due;
  const std::lock_guard lock(mutex_);
  for (const auto& each : alarms_.take(now)) {
    if (Attempt attempt = each.lock()) due.push_back(std::move(attempt));
  }
  return due;
}

}  // namespace mortise::redlock
