// SPDX-License-Identifier: MIT
// Results and notifications are read by several threads, of several connections, in any order.
#include "postgres/attempts.hpp"

#include "base/mutant.hpp"
#include "postgres/statements.hpp"

#include <optional>
#include <utility>

namespace mortise::postgres {
namespace {

// PostgreSQL's attempts are not bound to a connection.
constexpr std::uint64_t any_connection = 1;

}  // namespace

bool Attempts::wanted(const Operation& operation) {
  Courses::wanted(operation);
  return on(operation->request().attempt, [&](Entry& entry) {
    if (entry.course.is_withdrawn()) return false;
    // Before the first request: a notification may overtake its reply.
    entry.part_of_store().wait(names, operation);
    return true;
  });
}

bool Attempts::give_way(const Operation& operation) {
  if (!wanted(operation)) return false;
  waiter(operation->request().attempt, &Waiter::give_way);
  return true;
}

bool Attempts::asked(const AttemptId& attempt) {
  return on(attempt, [](Entry& entry) {
    if (!entry.course.is_undecided()) return false;
    Waiter& waiter = entry.part_of_store();
    if (waiter.is_asked() && !base::mutant("postgres.asks_behind_its_own_request")) return false;
    if (!entry.course.ask(any_connection, false)) return false;
    waiter.ask();
    return true;
  });
}

void Attempts::not_sent(const AttemptId& attempt) {
  on(attempt, [](Entry& entry) {
    if (entry.more != nullptr) entry.more->arrive();
    entry.course.refuse();
  });
}

bool Attempts::answered(const Operation& operation, bool stays) {
  const auto arrive = [&](Entry& entry) {
    if (entry.more != nullptr) entry.more->arrive();
    stays || tickets_ ? entry.course.wait() : entry.course.refuse();
    return std::optional(entry.course.is_withdrawn());
  };
  return on(operation->request().attempt, arrive).value_or(true);
}

void Attempts::unanswered(const Operation& operation, const remote::VoidMoment& moment,
                          Instant due) noexcept {
  waiter(operation->request().attempt, &Waiter::arrive);
  request_lost(operation, moment, due);
}

void Attempts::executed(const AttemptId& attempt, remote::ServerTime at, std::uint64_t clock,
                        Instant now) {
  const std::lock_guard lock(mutex);
  Courses::executed(attempt, at, clock, now);
}

std::uint64_t Attempts::held(const AttemptId& attempt, std::uint64_t number, Instant now,
                             Instant until) {
  const std::lock_guard lock(mutex);
  return Courses::held(attempt, number, now, until);
}

bool Attempts::released(const HoldId& hold) {
  const std::lock_guard lock(mutex);
  return Courses::released(hold.attempt, hold.number);
}

bool Attempts::is_in_doubt(const AttemptId& attempt) const {
  return ask(attempt, [](const auto& course) { return course.lost().any(); });
}

bool Attempts::may_ask_last(const AttemptId& attempt) {
  return on(attempt, [](Entry& entry) {
    return entry.more != nullptr && !entry.course.is_withdrawn() && entry.more->ask_last();
  });
}

bool Attempts::any_taken_back() const {
  return is_any_undecided([](const Entry& entry) {
    const bool asks_last = entry.more != nullptr && entry.more->asks_last();
    return (asks_last || entry.course.is_withdrawn()) && !entry.operation.expired();
  });
}

bool Attempts::anybody_waits() {
  const std::lock_guard lock(mutex);
  return !names.empty();
}

Attempts::Operations Attempts::waiting(std::string_view name, std::string_view first) {
  Operations operations;
  const std::lock_guard lock(mutex);
  const auto [begin, end] = names.equal_range(name);
  for (auto each = begin; each != end; ++each) {
    Operation operation = each->second.lock();
    if (!operation || operation->done()) continue;
    const AttemptId& attempt = operation->request().attempt;
    if (!first.empty() && attempt_bytes(attempt).view() != first) continue;
    operations.push_back(std::move(operation));
  }
  return operations;
}

}  // namespace mortise::postgres
