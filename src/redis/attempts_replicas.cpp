// SPDX-License-Identifier: MIT
// What replicas have said of a grant (`replicas=n`): the part of Attempts by which a grant is
// either told or given back, and never both.
#include "redis/attempts.hpp"

#include <utility>

namespace mortise::redis {

// By one word of theirs it was on its way back, and by the next one it was told: its owner believed
// in a hold whose release was under way (S1).
bool Attempts::attested(const HoldId& hold, Instant now) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(hold.attempt);
  if (found == records_.end() || found->second.number != hold.number) return false;
  Record& record = found->second;
  if (record.leaves || record.until <= now) return false;
  record.attested = true;
  return true;
}

bool Attempts::unattested(const HoldId& hold) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(hold.attempt);
  if (found == records_.end() || found->second.number != hold.number) return true;
  return !found->second.attested && !std::exchange(found->second.leaves, true);
}

void Attempts::left(const HoldId& hold) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(hold.attempt);
  if (found != records_.end() && found->second.number == hold.number) erase(found);
}

std::uint64_t Attempts::number_of(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(attempt);
  return found == records_.end() ? 0 : found->second.number;
}

}  // namespace mortise::redis
