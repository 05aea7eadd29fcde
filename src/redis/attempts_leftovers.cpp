// SPDX-License-Identifier: MIT
// What requests of which no answer came may have taken: the part of Attempts that is of use when a
// connection has broken, and then has to be right.
#include "base/mutant.hpp"
#include "redis/attempts.hpp"
#include "remote/outbox.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mortise::redis {

void Attempts::unanswered(const AttemptId& attempt, std::uint64_t released, std::uint64_t epoch,
                          Instant now, const Operation& taker) noexcept {
  const std::lock_guard lock(mutex_);
  any_late_.store(true);
  LateCopies::Late* const late = late_.unanswered({.attempt = attempt}, epoch, now);
  if (late == nullptr) return;
  if (released != 0) {
    late->release = true;
    late->more.released = released;
  }
  if (!taker) return;
  late->more.taker = taker;
  late->more.asked = false;
}

bool Attempts::is_undecided_locked(const AttemptId& attempt) const {
  const auto found = records_.find(attempt);
  return found != records_.end() && !found->second.decided();
}

Attempts::Operation Attempts::leftover_locked(const AttemptId& attempt, Taken& taken) const {
  if (base::mutant("redis.leave_what_a_copy_has_taken")) return nullptr;
  if (!taken.taker || taken.asked || is_undecided_locked(attempt)) return nullptr;
  taken.asked = true;
  return taken.taker;
}

std::vector<Attempts::Operation> Attempts::leftovers() {
  std::vector<Operation> operations;
  const std::lock_guard lock(mutex_);
  // None is marked as asked that is not listed for want of memory.
  operations.reserve(static_cast<std::size_t>(std::distance(late_.begin(), late_.end())));
  for (auto& [key, late] : late_) {
    if (Operation operation = leftover_locked(key.attempt, late.more)) {
      operations.push_back(std::move(operation));
    }
  }
  return operations;
}

Attempts::Operation Attempts::leftover(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  LateCopies::Late* const late = late_.find({.attempt = attempt});
  return late == nullptr ? nullptr : leftover_locked(attempt, late->more);
}

bool Attempts::is_leftover(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  const LateCopies::Late* const late = late_.find({.attempt = attempt});
  return (late != nullptr && late->more.needed()) || is_to_be_taken_back_locked(attempt);
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
  LateCopies::Late* const late = late_.find({.attempt = attempt});
  if (late != nullptr) late->more.asked = false;
}

void Attempts::give_up_leftover(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(attempt);
  if (found != records_.end()) found->second.taken_back.reset();
  LateCopies::Late* const late = late_.find({.attempt = attempt});
  if (late == nullptr) return;
  late->more.taker = nullptr;
  late_.settle({.attempt = attempt});
  any_late_.store(!late_.empty());
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

bool Attempts::takes_back(Instant now) const {
  const std::lock_guard lock(mutex_);
  const bool leftovers = std::any_of(late_.begin(), late_.end(), [&](const auto& entry) {
    const auto& [key, late] = entry;
    return late.more.needed() && !late_.is_over(late, now) && !is_undecided_locked(key.attempt);
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
