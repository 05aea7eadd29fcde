// SPDX-License-Identifier: MIT
// Replies and pushes of one attempt are read by two threads, in any order, each as late as the
// scheduler likes. Every decision here is taken once, under the mutex, by the number of a grant;
// what acts on it, outside, may stand still before it does, and asks again what became of it.
#include "redis/attempts.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis {
namespace {

constexpr std::size_t most_spare = 32;

}  // namespace

Attempts::Attempts(std::mutex& mutex) : mutex_(mutex) { spare_.reserve(most_spare); }

// Two threads may ask for one attempt, one of them late: behind the release of what the other one
// was granted, or behind a cancel, its request would make an orphaned grant. What is over has a
// record no more, and its operation is done.
bool Attempts::asked(const Operation& operation, std::uint64_t connection, bool once) {
  if (operation->done()) return false;
  Record& record = record_of(operation->request().attempt);
  if (record.decided() || record.cancelled || (once && record.connection == connection))
    return false;
  record.operation = operation;
  record.connection = connection;
  ++record.open;
  return true;
}

void Attempts::wanted(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  if (operation->done()) return;
  Record& record = record_of(operation->request().attempt);
  if (!record.decided()) record.operation = operation;
}

Attempts::Record& Attempts::record_of(const AttemptId& attempt) {
  const auto found = records_.find(attempt);
  if (found != records_.end()) return found->second;
  if (spare_.empty()) return records_[attempt];
  Records::node_type node = std::move(spare_.back());
  spare_.pop_back();
  node.key() = attempt;
  return records_.insert(std::move(node)).position->second;
}

void Attempts::erase(Records::iterator record) noexcept {
  if (records_.size() == 1) any_places_.store(false);
  if (spare_.size() == most_spare) {
    records_.erase(record);
    return;
  }
  record->second = Record{};
  spare_.push_back(records_.extract(record));
}

void Attempts::refused(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(attempt);
  if (found == records_.end() || found->second.decided()) return;
  Record& record = found->second;
  if (--record.open == 0 && !record.reading && !lost_.contains(attempt)) {
    record.connection = 0;
  }
}

bool Attempts::cancelled(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  return cancelled_locked(operation);
}

bool Attempts::cancelled_locked(const Operation& operation) {
  const auto found = records_.find(operation->request().attempt);
  if (found == records_.end()) return operation->progress() != Acquisition::Progress::unsent;
  if (found->second.connection == 0 && !found->second.decided()) {
    erase(found);
    return false;
  }
  found->second.cancelled = true;
  return true;
}

bool Attempts::is_withdrawn(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(attempt);
  return found == records_.end() || found->second.cancelled || found->second.decided();
}

void Attempts::Record::decide(std::uint64_t grant, Instant end) noexcept {
  number = grant;
  until = end;
  operation.reset();
}

// What a server said goes for that server alone: one that was started anew has another clock, and
// may have lost the last numbers.
bool Attempts::Record::is_of_its_server(const Push& push) const noexcept {
  return reading &&
         (reading->clock == push.clock || base::mutant("redis.keep_readings_of_another_server"));
}

// Numbers grow at each grant of the name, also where the server's clock steps back. Where the reply
// knew none (nothing was granted yet), its time has to do.
bool Attempts::Record::is_over(const Push& push) const noexcept {
  // The push was held up, an administrator took the lock, and the waiter has asked: it was told of
  // a later grant before it hears of its own, whose provisional lease has not run out (S8).
  if (base::mutant("redis.believe_a_push_that_is_over") || !is_of_its_server(push)) return false;
  return seen != 0 ? push.number <= seen : push.granted_at < reading->at;
}

// In a cluster a replica tells its own subscribers, too, of what its master says, also of a grant
// of which the master then finds that nobody has heard it, and that is none; and a replica takes a
// subscription that was meant for the master that it was. So a server that has executed a request
// since the client listens there was the master since: where it is replaced it ends the
// subscription, before it hears of anything that its successor says.
bool Attempts::Record::reads(const Push& push) const noexcept {
  return is_of_its_server(push) && reading->asked >= push.heard_since;
}

// Of two that one server has told only the newer one can be true. Of two servers' it is that of the
// one that is there now: where it has lost the last numbers, and its clock is behind, it begins
// with smaller ones.
void Attempts::Record::keep(const Push& push) {
  const bool same = early && early->clock == push.clock;
  const bool newer = same ? early->number < push.number : push.clock != 0;
  if (!early || newer) early = push;
}

std::optional<Push> Attempts::waits(const AttemptId& attempt, const Reading& reading,
                                    std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(attempt);
  if (found == records_.end() || found->second.decided()) return std::nullopt;
  Record& record = found->second;
  // Numbers go with their name from server to server, but not to one that has lost the last ones.
  const bool same = !record.reading || record.reading->clock == reading.clock;
  record.reading = reading;
  record.seen = same ? std::max(record.seen, number) : number;
  if (!same) record.concluded = 0;
  if (record.early && record.early->clock != reading.clock) record.early.reset();
  if (record.early && !record.reads(*record.early)) return std::nullopt;
  std::optional<Push> early = std::exchange(record.early, std::nullopt);
  if (!early || record.is_over(*early)) return std::nullopt;
  // It is believed now.
  record.decide(early->number, reading.not_later_than(early->granted_at) + early->lease);
  return early;
}

void Attempts::placed(const AttemptId& attempt, Instant now) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(attempt);
  if (found == records_.end()) return;
  found->second.placed = now;
  any_places_.store(true);
}

// Each thread that waits asks once a second. The first of them asks for all that have not asked
// within half of that, so each place is renewed more often than once in 1.5 s.
std::optional<std::vector<Attempts::Operation>> Attempts::to_place(const Operation& asks,
                                                                   Instant now) {
  constexpr std::size_t most = 128;
  const auto is_due = [now](const Record& record) {
    return now - record.placed >= core::fallback_period / 2;
  };
  std::vector<Operation> all;
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(asks->request().attempt);
  if (found == records_.end() || found->second.placed == Instant{}) return all;
  if (found->second.decided() || found->second.cancelled) return all;
  if (!is_due(found->second)) {
    // Nobody may ask for it once more until its turn comes again.
    found->second.skipped = true;
    places_due_.bring_forward(found->second.placed + core::fallback_period);
    return std::nullopt;
  }
  found->second.skipped = false;
  all.push_back(asks);
  for (auto& [attempt, record] : records_) {
    if (all.size() == most) break;
    const bool waits = record.placed != Instant{} && !record.decided() && !record.cancelled;
    if (!waits || !is_due(record) || attempt == asks->request().attempt) continue;
    Operation operation = record.operation.lock();
    if (!operation || operation->done()) continue;
    record.placed = now;
    all.push_back(std::move(operation));
  }
  found->second.placed = all.size() > 1 ? now : Instant{};
  if (all.size() == 1) all.clear();
  return all;
}

Attempts::Operation Attempts::unplaced(Instant now) {
  if (!places_due_.take(now)) return nullptr;
  Operation due;
  Instant next = never;
  const std::lock_guard lock(mutex_);
  for (auto& [attempt, record] : records_) {
    const bool waits = record.placed != Instant{} && !record.decided() && !record.cancelled;
    if (!record.skipped || !waits) continue;
    const Instant its = record.placed + core::fallback_period;
    if (due || its > now) {
      next = std::min(next, its);
    } else {
      due = record.operation.lock();
    }
  }
  places_due_.bring_forward(due ? std::min(next, now + core::fallback_period) : next);
  return due;
}

std::optional<std::uint64_t> Attempts::ends(const AttemptId& attempt, std::uint64_t number,
                                            Instant now) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(attempt);
  if (found == records_.end() || !found->second.decided()) return std::nullopt;
  Record& record = found->second;
  if (number == 0 || number < record.number || record.until <= now) return std::nullopt;
  record.until = now;
  return record.number;
}

void Attempts::told(const AttemptId& attempt, std::uint64_t concluded) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(attempt);
  if (found == records_.end() || found->second.decided()) return;
  found->second.concluded = std::max(found->second.concluded, concluded);
}

std::uint64_t Attempts::concluded(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(attempt);
  return found == records_.end() ? 0 : found->second.concluded;
}

std::uint64_t Attempts::held(const AttemptId& attempt, std::uint64_t number, Instant since,
                             Instant until) {
  if (records_.size() >= sweep_at_) sweep(since);
  Record& record = record_of(attempt);
  if (!record.decided()) record.decide(number, until);
  return record.number;
}

// One thread stood still between `granted()` and its operation, which another one then completed
// with a later grant: by the number of the first, the push of the hold that stands was one that
// nobody wants, and freed it (S1).
void Attempts::completed(const Acquisition& operation) {
  const Grant& grant = operation.grant();
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(operation.request().attempt);
  if (found == records_.end() || !found->second.decided()) return;
  Record& record = found->second;
  if (grant.number == 0 || grant.number == record.number) return;
  record.number = grant.number;
  record.until = grant.counted_from + grant.lease;
}

bool Attempts::is_decided(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(attempt);
  return found != records_.end() && found->second.decided();
}

// Of holds that ended otherwise than by a release the library does not tell.
void Attempts::sweep(Instant now) {
  std::erase_if(records_, [&](const auto& entry) {
    const Record& record = entry.second;
    return record.decided() ? now - record.until > VoidMoment::life : record.operation.expired();
  });
  sweep_at_ = std::max<std::size_t>(1024, records_.size() * 2);
}

void Attempts::renewed(const std::vector<Renewal::Item>& items) {
  const std::lock_guard lock(mutex_);
  for (const Renewal::Item& item : items) {
    if (item.answer != Renewal::Answer::renewed) continue;
    const auto found = records_.find(item.hold.attempt);
    if (found == records_.end() || found->second.number != item.hold.number) continue;
    found->second.until = std::max(found->second.until, item.counted_from + item.granted);
  }
}

bool Attempts::stands(const HoldId& hold, Instant now) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(hold.attempt);
  return found != records_.end() && found->second.number == hold.number && !found->second.leaves &&
         now < found->second.until;
}

void Attempts::leaves(const HoldId& hold) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(hold.attempt);
  if (found == records_.end() || found->second.number != hold.number) return;
  found->second.leaves = true;
}

// The record stays: a push that tells of that hold late is not one of a hold that nobody wants.
void Attempts::gone(const HoldId& hold, Instant now) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(hold.attempt);
  if (found == records_.end() || found->second.number != hold.number) return;
  found->second.until = std::min(found->second.until, now);
}

void Attempts::over(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(attempt);
  if (found != records_.end() && !found->second.decided()) erase(found);
}

bool Attempts::released(const AttemptId& attempt, std::uint64_t number) {
  const auto found = records_.find(attempt);
  if (found == records_.end() || found->second.number != number) return false;
  const bool in_doubt = found->second.release_in_doubt;
  erase(found);
  return in_doubt;
}

void Attempts::forget(const HoldId& hold) {
  const std::lock_guard lock(mutex_);
  static_cast<void>(released(hold.attempt, hold.number));
}

Attempts::Verdict Attempts::granted(const Push& push) {
  using enum Verdict::Kind;
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(push.attempt);
  if (found == records_.end()) return {.kind = orphaned_grant};
  Record& record = found->second;
  if (record.decided()) {
    if (base::mutant("redis.push_by_attempt")) {
      return {.kind = std::exchange(record.told, true) ? orphaned_grant : known};
    }
    if (base::mutant("redis.release_without_number_check") && push.number != record.number) {
      return {.kind = orphaned_grant};  // with the script's half of it: no harm without
    }
    // The hold's own, or of a grant before it. Releasing what a reply has told of would end a hold
    // that is in use; and a larger number is a grant that came after it, to nobody.
    return {.kind = push.number <= record.number ? known : orphaned_grant};
  }
  Operation operation = record.operation.lock();
  if (!operation) {
    erase(found);
    return {.kind = orphaned_grant};
  }
  if (record.is_over(push)) return {.kind = known};
  if (!record.reads(push)) {
    record.keep(push);
    return {.kind = record.reading ? unreadable : later, .operation = std::move(operation)};
  }
  record.decide(push.number, record.reading->not_later_than(push.granted_at) + push.lease);
  return {.kind = believe, .operation = std::move(operation), .reading = *record.reading};
}

Attempts::Operation Attempts::find(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(attempt);
  if (found == records_.end() || found->second.decided()) return nullptr;
  return found->second.operation.lock();
}

std::vector<Attempts::Operation> Attempts::undecided(std::uint64_t newest) const {
  std::vector<Operation> operations;
  const std::lock_guard lock(mutex_);
  for (const auto& [attempt, record] : records_) {
    if (record.decided() || record.cancelled) continue;
    if (newest != 0 && record.connection == newest) continue;
    Operation operation = record.operation.lock();
    if (operation && !operation->done()) operations.push_back(std::move(operation));
  }
  // First come first served, also after the server has forgotten its queues.
  std::sort(operations.begin(), operations.end(), [](const Operation& a, const Operation& b) {
    return a->request().attempt < b->request().attempt;
  });
  return operations;
}

std::size_t Attempts::size() const {
  const std::lock_guard lock(mutex_);
  return records_.size();
}

void Attempts::look_at(const AttemptId& attempt, Instant when) {
  const std::lock_guard lock(mutex_);
  looks_.add(when, attempt);
}

std::vector<Attempts::Operation> Attempts::looks(Instant now) {
  std::vector<Operation> due;
  const std::lock_guard lock(mutex_);
  for (const AttemptId& attempt : looks_.take(now)) {
    const auto found = records_.find(attempt);
    if (found == records_.end() || found->second.decided() || found->second.cancelled) continue;
    if (Operation operation = found->second.operation.lock()) due.push_back(std::move(operation));
  }
  return due;
}

}  // namespace mortise::redis
