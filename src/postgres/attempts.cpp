// SPDX-License-Identifier: MIT
// Results and notifications are read by several threads, of several connections, in any order.
#include "postgres/attempts.hpp"

#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "postgres/statements.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace mortise::postgres {
namespace {

// The library repeats a release for no longer.
constexpr std::chrono::minutes doubtful_releases_live{6};

// Who waits for readers without a ticket: see mortise.take_row() of sql/take_row.sql.
bool keeps_readers_out(const Acquisition& operation) {
  const std::optional<Holder> holder = operation.holder();
  return operation.request().mode == Mode::exclusive && holder && holder->mode == Mode::shared;
}

}  // namespace

Attempts::Attempts(bool tickets) : tickets_(tickets) {}

bool Attempts::wanted(const Operation& operation) {
  const AttemptId& attempt = operation->request().attempt;
  const std::lock_guard lock(mutex_);
  if (operation->done()) return false;
  const auto [place, fresh] = pending_.try_emplace(attempt);
  if (fresh) {
    place->second.operation = operation;
    if (operation->request().wait) {
      place->second.name = operation->request().name;
      names_.emplace(place->second.name, attempt);
    }
  }
  return !place->second.cancelled;
}

void Attempts::sent(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  sent_locked(attempt);
}

bool Attempts::sent_alone(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  const bool one_is = found != pending_.end() && found->second.open > 0;
  if (one_is && !base::mutant("postgres.asks_behind_its_own_request")) return false;
  sent_locked(attempt);
  return true;
}

void Attempts::sent_locked(const AttemptId& attempt) {
  const auto found = pending_.find(attempt);
  if (found == pending_.end()) {
    ++left_over_[attempt];
    return;
  }
  ++found->second.open;
  found->second.asked = true;
  found->second.gives_way = false;
}

bool Attempts::answered(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  arrived_locked(attempt);
  const auto found = pending_.find(attempt);
  return found == pending_.end() || found->second.cancelled;
}

void Attempts::not_sent(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  arrived_locked(attempt);
  forget_done_locked(attempt);
}

void Attempts::not_wanted(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  forget_done_locked(attempt);
}

void Attempts::forget_done_locked(const AttemptId& attempt) {
  const auto found = pending_.find(attempt);
  if (found == pending_.end() || found->second.open > 0 || found->second.cancelled) return;
  const Operation operation = found->second.operation.lock();
  if (!operation || operation->done()) forget_locked(found);
}

void Attempts::arrived_locked(const AttemptId& attempt) {
  const auto found = pending_.find(attempt);
  if (found != pending_.end() && found->second.open > 0) {
    --found->second.open;
    return;
  }
  const auto left = left_over_.find(attempt);
  if (left != left_over_.end() && --left->second == 0) left_over_.erase(left);
}

void Attempts::unanswered(const Operation& taker, const remote::VoidMoment& moment,
                          Instant due) noexcept {
  const std::lock_guard lock(mutex_);
  arrived_locked(taker->request().attempt);
  note_lost(taker, moment, due);
}

void Attempts::executed_in_doubt(const Operation& taker,
                                 const remote::VoidMoment& moment) noexcept {
  const std::lock_guard lock(mutex_);
  note_lost(taker, moment, moment.noted);
}

// Without memory, the client does not note the request. A hold that the request takes ends with its
// lease.
void Attempts::note_lost(const Operation& taker, const remote::VoidMoment& moment,
                         Instant due) noexcept {
  base::without_memory([&] {
    // Not for each of the thousands that a connection takes with it.
    if (moment.noted - swept_ > remote::VoidMoment::life) {
      swept_ = moment.noted;
      std::erase_if(lost_,
                    [&](const auto& each) { return each.second.moment.is_forgotten(swept_); });
    }
    const AttemptId& attempt = taker->request().attempt;
    any_lost_.store(true);
    looks_due_.add(due, attempt);
    Lost& lost = lost_[attempt];
    lost.moment.extend(moment);
    lost.due = std::max(lost.due, due);
    lost.taker = taker;
    lost.asked = false;
  });
}

void Attempts::executed(const Operation& taker, remote::ServerTime at, std::uint64_t clock,
                        Instant now) {
  if (!any_lost_.load()) return;
  const AttemptId& attempt = taker->request().attempt;
  const std::lock_guard lock(mutex_);
  const auto found = lost_.find(attempt);
  if (found == lost_.end()) return;
  const Instant next = found->second.moment.next_try(at, clock, now);
  if (next == never || base::mutant("postgres.taken_back_only_once")) {
    lost_.erase(found);
    any_lost_.store(!lost_.empty());
    return;
  }
  found->second.asked = false;
  found->second.due = next;
  looks_due_.add(next, attempt);
}

bool Attempts::is_in_doubt(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  return lost_.contains(attempt);
}

// The client asks for an undecided attempt again, and the answer shows its hold.
std::vector<Attempts::Operation> Attempts::looks(Instant now) {
  std::vector<Operation> operations;
  const std::lock_guard lock(mutex_);
  // None is marked as asked that is not listed for want of memory.
  operations.reserve(lost_.size());
  static_cast<void>(looks_due_.take(now));
  if (base::mutant("postgres.leave_what_a_copy_has_taken")) return operations;
  for (auto& [attempt, lost] : lost_) {
    if (lost.asked || lost.due > now || pending_.contains(attempt)) continue;
    lost.asked = true;
    operations.push_back(lost.taker);
  }
  return operations;
}

void Attempts::put_back(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  const auto found = lost_.find(attempt);
  if (found != lost_.end()) found->second.asked = false;
}

void Attempts::hurry(Instant now) noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& [attempt, lost] : lost_) lost.due = std::min(lost.due, now);
}

bool Attempts::any_looks(Instant now) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(lost_.begin(), lost_.end(), [&](const auto& each) {
    const Lost& lost = each.second;
    if (lost.moment.is_forgotten(now) || pending_.contains(each.first)) return false;
    return lost.asked || lost.due <= now;
  });
}

// Without memory, the releases of all holds up to this one count as in doubt. Otherwise the
// repetition would report the loss of a hold that stood.
void Attempts::release_unanswered(const AttemptId& attempt, Instant now) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    std::erase_if(doubtful_releases_,
                  [&](const auto& each) { return now - each.second > doubtful_releases_live; });
    doubtful_releases_[attempt] = now;
  } catch (const std::bad_alloc&) {
    doubtful_below_ = std::max(doubtful_below_, attempt.sequence + 1);
  }
}

bool Attempts::release_in_doubt(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  return attempt.sequence < doubtful_below_ || doubtful_releases_.contains(attempt);
}

bool Attempts::cancelled(const Operation& operation) {
  const AttemptId& attempt = operation->request().attempt;
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  if (found == pending_.end()) return operation->progress() != Acquisition::Progress::unsent;
  Pending& pending = found->second;
  pending.cancelled = true;
  const bool known = pending.open > 0 || lost_.contains(attempt) ||
                     (pending.asked && (tickets_ || keeps_readers_out(*operation)));
  if (!known) forget_locked(found);
  return known;
}

bool Attempts::is_over(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  return found == pending_.end() || found->second.cancelled;
}

void Attempts::decided(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  if (found == pending_.end()) return;
  forget_locked(found);
}

void Attempts::forget_locked(Table::iterator place) {
  // First: all of it, or nothing where there is no memory.
  if (place->second.open > 0) left_over_[place->first] += place->second.open;
  if (const auto lost = lost_.find(place->first); lost != lost_.end()) {
    looks_due_.add(lost->second.due, place->first);
  }
  if (!place->second.name.empty()) {
    const auto [begin, end] = names_.equal_range(place->second.name);
    const auto mine =
        std::find_if(begin, end, [&](const auto& each) { return each.second == place->first; });
    if (mine != end) names_.erase(mine);
  }
  pending_.erase(place);
}

bool Attempts::gives_way(const Operation& operation) {
  if (!wanted(operation)) return false;
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(operation->request().attempt);
  if (found == pending_.end()) return false;
  found->second.gives_way = true;
  return true;
}

bool Attempts::gives_way(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  return found != pending_.end() && found->second.gives_way;
}

bool Attempts::may_ask_last(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  if (found == pending_.end() || found->second.cancelled || !found->second.gives_way) return false;
  found->second.gives_way = false;
  found->second.asks_last = true;
  return true;
}

bool Attempts::asks_last(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  return found != pending_.end() && found->second.asks_last;
}

// One behind the other on a connection that stands still, a request for each release would make it
// worse: what is on its way is answered first.
bool Attempts::told(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  if (found == pending_.end()) return false;
  if (found->second.gives_way && !base::mutant("postgres.hears_its_own_release")) return false;
  found->second.in_vain = found->second.locked = 0;  // who meets a locked row soon looks again
  found->second.told = found->second.open > 0;
  return !found->second.told;
}

bool Attempts::told_meanwhile(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  if (found == pending_.end() || found->second.open > 0) return false;
  return std::exchange(found->second.told, false);
}

unsigned Attempts::looked_in_vain(const AttemptId& attempt, InVain why) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  if (found == pending_.end()) return 0;
  Pending& pending = found->second;
  if (why == InVain::locked) return ++pending.locked;
  pending.locked = 0;
  pending.in_vain = why == InVain::told_later ? 0 : pending.in_vain + 1;
  return pending.in_vain;
}

std::vector<Attempts::Operation> Attempts::undecided() const {
  std::vector<Operation> operations;
  const std::lock_guard lock(mutex_);
  for (const auto& [attempt, pending] : pending_) {
    if (pending.cancelled) continue;
    Operation operation = pending.operation.lock();
    if (operation && !operation->done()) operations.push_back(std::move(operation));
  }
  std::sort(operations.begin(), operations.end(), [](const Operation& a, const Operation& b) {
    return a->request().attempt < b->request().attempt;
  });
  return operations;
}

bool Attempts::any_taken_back() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(pending_.begin(), pending_.end(), [](const auto& each) {
    const bool ends = each.second.cancelled || each.second.asks_last;
    return ends && !each.second.operation.expired();
  });
}

bool Attempts::any_left_over() const {
  const std::lock_guard lock(mutex_);
  return !left_over_.empty();
}

bool Attempts::anybody_waits() const {
  const std::lock_guard lock(mutex_);
  return !names_.empty();
}

std::vector<Attempts::Operation> Attempts::waiting(const std::string& name,
                                                   std::string_view first) const {
  std::vector<Operation> operations;
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = names_.equal_range(name);
  for (auto each = begin; each != end; ++each) {
    if (!first.empty() && attempt_bytes(each->second).view() != first) continue;
    const auto found = pending_.find(each->second);
    if (found == pending_.end() || found->second.cancelled) continue;
    Operation operation = found->second.operation.lock();
    if (operation && !operation->done()) operations.push_back(std::move(operation));
  }
  return operations;
}

}  // namespace mortise::postgres
