// SPDX-License-Identifier: MIT
// guard.sql.
#include "simulation/postgres/functions.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace simulation::postgres {
namespace {

/// The inner block of lock_in(). @throws SqlError 55P03: waited in vain; MO001: held by a lease
Task<void> take_row_in(Session& session, const std::string& name, bool row_seen, bool held,
                       std::int64_t wait) {
  if (held) {
    co_await session.lock_row(name, Strength::no_key_update, true);
    throw SqlError("MO001", "held by a lease");
  }
  const std::string before = session.setting(Setting::lock_timeout);
  session.set(Setting::lock_timeout, std::to_string(std::max<std::int64_t>(wait, 1)) + "ms", true);
  if (!row_seen) {
    LockRow fresh;
    fresh.name = name;
    co_await session.insert(std::move(fresh));
  }
  LockTuple* const tuple = co_await session.lock_row(name, Strength::update, false);
  if (tuple == nullptr) throw SqlError("XX000", "the model: a row has gone");
  LockRow row = session.row(*tuple);
  if (row.expires_at > session.clock()) throw SqlError("MO001", "held by a lease");
  co_await session.step();
  row.number = std::max(row.number + 1, epoch(session.clock()));
  row.expires_at = minus_infinity;
  session.write(*tuple, std::move(row));
  session.set(Setting::lock_timeout, before, true);
}

}  // namespace

Task<bool> guard(Session& session, const std::string& name, std::int64_t number) {
  const auto fits = [&](const LockRow& row) {
    return (row.number == number || row.lease == 0) && row.expires_at > session.clock();
  };
  const Moment before = session.clock();
  const LockRow* const seen = session.see(name);
  if (seen == nullptr || !fits(*seen)) co_return false;
  if (session.db.makes(Mistake::guard_does_not_lock)) co_return seen->number == number;
  LockTuple* const tuple = co_await session.lock_row(name, Strength::key_share, false);
  if (tuple == nullptr) co_return false;
  if (session.row(*tuple).lease == 0) {
    Moment ends = minus_infinity;
    for (const LockRow* const each : session.shares(name)) {
      if (each->attempt.empty() || each->number != number) continue;
      ends = std::min(each->expires_at, session.row(*tuple).expires_at);
    }
    co_return ends > session.clock();
  }
  if (session.row(*tuple).number != number) co_return false;
  if (session.db.makes(Mistake::guard_looks_before_it_locks)) {
    co_return session.row(*tuple).expires_at > before;
  }
  co_return session.row(*tuple).expires_at > session.clock();
}

Task<std::string> lock_in(Session& session, const std::string& name, std::int64_t wait) {
  const LockRow* const seen = session.see(name);
  const bool row_seen = seen != nullptr;
  const bool held = row_seen && seen->expires_at > session.clock();
  if (held && session.setting(Setting::isolation) == "read committed") co_return "H";
  const std::size_t mark = session.mark();
  std::optional<SqlError> failure;
  try {
    co_await take_row_in(session, name, row_seen, held, wait);
  } catch (const SqlError& error) {
    if (error.state() != "55P03" && error.state() != "MO001") throw;
    failure = error;
  }
  if (!failure) co_return "T";
  session.roll_back_to(mark);
  co_return failure->state() == "MO001" ? "H" : "B";
}

}  // namespace simulation::postgres
