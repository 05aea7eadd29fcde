// SPDX-License-Identifier: MIT
// What requests may have taken that were not answered: the part of Attempts that is of use when a
// connection has broken, and then has to be right.
#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "redis/attempts.hpp"
#include "remote/outbox.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis {

void Attempts::unanswered(const Operation& taker, const VoidMoment& moment, Instant due) noexcept {
  const AttemptId& attempt = taker->request().attempt;
  const std::lock_guard lock(mutex_);
  // Without memory it is not noted. What it takes then ends with its lease.
  base::without_memory([&] {
    std::erase_if(lost_,
                  [&](const auto& each) { return each.second.moment.is_forgotten(moment.noted); });
    leftovers_due_.add(due, attempt);
    Lost& lost = lost_[attempt];
    lost.moment.extend(moment);
    lost.due = std::max(lost.due, due);
    lost.taker = taker;
    lost.asked = false;
  });
}

// Its answer may have been read, without memory to pass it on: then its record is gone already.
void Attempts::release_unanswered(const HoldId& hold, Instant now) noexcept {
  const std::lock_guard lock(mutex_);
  base::without_memory([&] {
    const auto found = records_.find(hold.attempt);
    Record& record = found == records_.end() ? record_of(hold.attempt) : found->second;
    if (found == records_.end()) record.decide(hold.number, now);
    if (record.number == hold.number) record.release_in_doubt = true;
  });
}

bool Attempts::answered(const AttemptId& attempt, ServerTime at, std::uint64_t clock, Instant now) {
  const auto found = lost_.find(attempt);
  if (found == lost_.end()) return false;
  const Instant next = found->second.moment.next_try(at, clock, now);
  if (next == never || base::mutant("redis.taken_back_only_once")) {
    lost_.erase(found);
    return false;
  }
  found->second.asked = false;
  found->second.due = next;
  leftovers_due_.add(next, attempt);
  return true;
}

bool Attempts::is_undecided_locked(const AttemptId& attempt) const {
  const auto found = records_.find(attempt);
  return found != records_.end() && !found->second.decided();
}

Attempts::Operation Attempts::leftover_locked(Lost& lost, Instant now) const {
  if (base::mutant("redis.leave_what_a_copy_has_taken")) return nullptr;
  const bool due = !lost.asked && lost.due <= now;
  if (!due || is_undecided_locked(lost.taker->request().attempt)) return nullptr;
  lost.asked = true;
  return lost.taker;
}

std::vector<Attempts::Operation> Attempts::leftovers(Instant now) {
  std::vector<Operation> operations;
  const std::lock_guard lock(mutex_);
  // None is marked as asked that is not listed for want of memory.
  operations.reserve(lost_.size());
  static_cast<void>(leftovers_due_.take(now));
  for (auto& [attempt, lost] : lost_) {
    if (Operation operation = leftover_locked(lost, now))
      operations.push_back(std::move(operation));
  }
  return operations;
}

Attempts::Operation Attempts::leftover(const AttemptId& attempt, Instant now) {
  const std::lock_guard lock(mutex_);
  const auto found = lost_.find(attempt);
  return found == lost_.end() ? nullptr : leftover_locked(found->second, now);
}

bool Attempts::is_leftover(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  return lost_.contains(attempt) || is_to_be_taken_back_locked(attempt);
}

bool Attempts::is_to_be_taken_back(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  return is_to_be_taken_back_locked(attempt);
}

bool Attempts::is_to_be_taken_back_locked(const AttemptId& attempt) const {
  const auto found = records_.find(attempt);
  return found != records_.end() && found->second.taken_back != nullptr;
}

void Attempts::put_back(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  const auto found = lost_.find(attempt);
  if (found != lost_.end()) found->second.asked = false;
}

void Attempts::has_nothing(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(attempt);
  if (found != records_.end()) found->second.taken_back.reset();
}

void Attempts::give_up_leftover(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(attempt);
  if (found != records_.end()) found->second.taken_back.reset();
  lost_.erase(attempt);
}

bool Attempts::Record::tried_enough(Instant now) const noexcept {
  return remote::was_tried_enough(since, taken_back->request().lease, now);
}

bool Attempts::taken_back(const Operation& operation, Instant now) {
  const std::lock_guard lock(mutex_);
  if (!cancelled_locked(operation)) return false;
  const auto found = records_.find(operation->request().attempt);
  if (found == records_.end() || found->second.decided()) return true;
  found->second.taken_back = operation;
  found->second.since = now;
  return true;
}

std::vector<Attempts::Operation> Attempts::to_take_back(Instant now) {
  std::vector<Operation> operations;
  std::vector<Operation> enough;  // let go under no mutex
  const std::lock_guard lock(mutex_);
  for (auto& [attempt, record] : records_) {
    if (!record.taken_back) continue;
    if (record.tried_enough(now)) {
      enough.push_back(std::move(record.taken_back));
    } else {
      operations.push_back(record.taken_back);
    }
  }
  return operations;
}

void Attempts::hurry(Instant now) {
  const std::lock_guard lock(mutex_);
  for (auto& [attempt, lost] : lost_) lost.due = std::min(lost.due, now);
}

bool Attempts::takes_back(Instant now, Instant until) const {
  const std::lock_guard lock(mutex_);
  const bool leftovers = std::any_of(lost_.begin(), lost_.end(), [&](const auto& each) {
    const Lost& lost = each.second;
    if (lost.moment.is_forgotten(now) || is_undecided_locked(each.first)) return false;
    return lost.asked || lost.due <= until;
  });
  if (leftovers) return true;
  return std::any_of(records_.begin(), records_.end(), [now](const auto& entry) {
    const Record& record = entry.second;
    if (record.taken_back) return !record.tried_enough(now);
    if (!record.cancelled || record.decided()) return false;
    const Operation operation = record.operation.lock();
    return operation && operation->done();
  });
}

}  // namespace mortise::redis
