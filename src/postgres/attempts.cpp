// SPDX-License-Identifier: MIT
// Results and notifications are read by several threads, of several connections, in any order.
#include "postgres/attempts.hpp"

#include "base/mutant.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <utility>

namespace mortise::postgres {
namespace {

// A little longer than a tombstone lasts at the server (mortise.bury() of sql/schema.sql).
constexpr std::chrono::minutes late_copies_live{6};
// The number of what is sent while nothing is known of late copies.
constexpr std::uint64_t first_copy = 1;

// Who waits for readers without a ticket: see mortise.take_row() of sql/take_row.sql.
bool keeps_readers_out(const Acquisition& operation) {
  const std::optional<Holder> holder = operation.holder();
  return operation.request().mode == Mode::exclusive && holder && holder->mode == Mode::shared;
}

}  // namespace

Attempts::Attempts(bool tickets) : tickets_(tickets), late_(late_copies_live) {}

bool Attempts::wanted(const Operation& operation) {
  const AttemptId& attempt = operation->request().attempt;
  const std::lock_guard lock(mutex_);
  if (operation->done()) return false;
  const auto [place, fresh] = pending_.try_emplace(attempt);
  if (fresh) {
    newest_ = std::max(newest_, attempt.sequence);
    place->second.operation = operation;
    if (operation->request().wait) {
      place->second.name = operation->request().name;
      names_.emplace(place->second.name, attempt);
    }
  }
  return !place->second.cancelled;
}

Copies Attempts::sent(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  return sent_locked(attempt);
}

std::optional<Copies> Attempts::sent_alone(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  const bool one_is = found != pending_.end() && found->second.open > 0;
  if (one_is && !base::mutant("postgres.asks_behind_its_own_request")) return {};
  return sent_locked(attempt);
}

Copies Attempts::sent_locked(const AttemptId& attempt) {
  const auto found = pending_.find(attempt);
  if (found != pending_.end()) {
    ++found->second.open;
    found->second.asked = true;
    found->second.gives_way = false;
  } else {
    ++left_over_[attempt];
  }
  return copies_locked(attempt);
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

// An attempt counts its own copies, each of which is sent with a larger number than those that were
// not answered: so that is known as long as they may come, also once the server refuses them.
remote::LateCopies<>::Late& Attempts::touch_locked(const AttemptId& attempt, Instant now) {
  const bool doubtful = doubtful_locked(attempt);
  remote::LateCopies<>::Late& late = late_.touch({.attempt = attempt}, now);
  late.kept = true;
  if (doubtful) {
    late.newest = first_copy;
    late.copies = true;
    late.release = true;
  }
  return late;
}

// Only the first note of an attempt needs memory: what is known of it already stays so.
template <class Note>
void Attempts::note_locked(const Note& note) noexcept {
  try {
    note();
  } catch (const std::bad_alloc&) {
    doubtful_ = newest_;
  }
}

bool Attempts::doubtful_locked(const AttemptId& attempt) const {
  return attempt.sequence <= doubtful_ && late_.find({.attempt = attempt}) == nullptr;
}

void Attempts::unanswered(const AttemptId& attempt, Instant now) noexcept {
  const std::lock_guard lock(mutex_);
  arrived_locked(attempt);
  number_anew_locked(attempt, now);
}

void Attempts::overtakes(const AttemptId& attempt, Instant now) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  const bool any = found != pending_.end() ? found->second.open > 0 : left_over_.contains(attempt);
  if (any) number_anew_locked(attempt, now);
}

void Attempts::number_anew_locked(const AttemptId& attempt, Instant now) noexcept {
  if (base::mutant("postgres.late_copies_not_numbered")) return;
  note_locked([&] {
    const std::uint64_t newest = touch_locked(attempt, now).newest;
    late_.unanswered({.attempt = attempt}, newest + 1, now);
  });
}

void Attempts::executed_in_doubt(const AttemptId& attempt, Instant now) noexcept {
  const std::lock_guard lock(mutex_);
  note_locked([&] { touch_locked(attempt, now); });
}

void Attempts::release_unanswered(const AttemptId& attempt, Instant now) noexcept {
  const std::lock_guard lock(mutex_);
  note_locked([&] { touch_locked(attempt, now).release = true; });
}

Copies Attempts::copies(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  return copies_locked(attempt);
}

Copies Attempts::copies_locked(const AttemptId& attempt) const {
  if (doubtful_locked(attempt))
    return {.number = static_cast<std::int64_t>(first_copy) + 1, .older = true};
  const auto* const late = late_.find({.attempt = attempt});
  if (late == nullptr) return {};
  return {.number = static_cast<std::int64_t>(late->newest) + 1, .older = late->copies};
}

void Attempts::tombstone_left(const AttemptId& attempt, const Copies& copies, Instant now) {
  if (!copies.older) return;
  const std::lock_guard lock(mutex_);
  auto* const late = late_.find({.attempt = attempt});
  const auto number = static_cast<std::uint64_t>(copies.number);
  if (late == nullptr || number <= late->newest) return;
  touch_locked(attempt, now);
  if (base::mutant("postgres.write_tombstones_for_ever")) return;
  static_cast<void>(late_.refuses_below({.attempt = attempt}, number));
}

bool Attempts::release_in_doubt(const AttemptId& attempt) const {
  const std::lock_guard lock(mutex_);
  return doubtful_locked(attempt) || late_.release_in_doubt({.attempt = attempt});
}

bool Attempts::cancelled(const Operation& operation) {
  const AttemptId& attempt = operation->request().attempt;
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(attempt);
  if (found == pending_.end()) return operation->progress() != Acquisition::Progress::unsent;
  Pending& pending = found->second;
  pending.cancelled = true;
  const bool known = pending.open > 0 || late_.find({.attempt = attempt}) != nullptr ||
                     doubtful_locked(attempt) ||
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
