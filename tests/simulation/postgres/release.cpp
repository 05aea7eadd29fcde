// SPDX-License-Identifier: MIT
// release.sql.
#include "simulation/postgres/functions.hpp"

#include <set>

namespace simulation::postgres {

Task<std::string> release_row(Session& session, const std::string& name, const std::string& attempt,
                              std::int64_t number, std::int64_t how_bits) {
  const How how(how_bits);
  const bool over = (how_bits & 2) != 0;
  LockTuple* const tuple = co_await session.lock_row(name, Strength::no_key_update, true);
  if (tuple == nullptr) {
    co_await session.step();
    const LockRow* const row = session.see(name);
    const bool its = row != nullptr && row->attempt == attempt && (row->number == number || over);
    const bool ours = row != nullptr && (how.strays || its);
    co_return ours ? "L" : "N";
  }
  co_await session.step();
  session.set(Setting::synchronous_commit, "off", true);
  const Moment t = session.clock();
  LockRow row = session.row(*tuple);
  const bool not_his = (row.attempt != attempt || row.number != number) &&
                       !session.db.makes(Mistake::release_ignores_attempt);
  const bool wakes = (how_bits & 1) != 0 && !session.db.makes(Mistake::release_waits_for_notify);
  char outcome = not_his                            ? 'N'
                 : row.expires_at == minus_infinity ? 'A'
                 : row.expires_at <= t              ? 'X'
                                                    : 'F';
  if (how.strays) {
    row.buried = bury(row.buried, attempt, how.copy + 1, t);
    session.write(*tuple, row);
    co_await session.step();
  }
  const bool orphaned_grant = over && outcome == 'N' && row.attempt == attempt && number > 0 &&
                              row.number > number && row.expires_at > t;
  if (outcome == 'F' || outcome == 'X' || orphaned_grant) {
    row.expires_at = minus_infinity;
    session.write(*tuple, row);
    if (row.waiters_until > t && wakes) {
      outcome = outcome == 'F' ? 'T' : outcome == 'X' ? 'Y' : 'M';
    } else if (row.waiters_until > t) {
      co_await session.step();
      co_await tell(session, name, t);
    }
  }
  if (outcome == 'A' && session.db.makes(Mistake::freed_before_is_lost)) co_return "N";
  co_return std::string(1, outcome);
}

Task<std::string> release(Session& session, const std::string& name, const std::string& attempt,
                          std::int64_t number, std::int64_t how) {
  const Where where = [&](const LockRow& row, const TupleLocks& tuple) {
    const Moment t = session.clock();
    const bool untouched = tuple.writer == &session
                               ? tuple.pending_xmax == 0 || tuple.pending_xmax == tuple.pending_xmin
                               : tuple.xmax == 0 || tuple.xmax == tuple.xmin;
    const bool its = (row.attempt == attempt && row.number == number) ||
                     session.db.makes(Mistake::release_ignores_attempt);
    return its && row.expires_at > t && row.waiters_until <= t && untouched;
  };
  const Set set = [](LockRow& row) { row.expires_at = minus_infinity; };
  const LockTuple* const freed = co_await session.update(name, where, set);
  if (freed != nullptr) {
    session.set(Setting::synchronous_commit, "off", true);
    co_return "F";
  }
  co_await session.step();
  co_return co_await release_row(session, name, attempt, number, how);
}

Task<void> wake(Session& session, const std::vector<std::string>& names) {
  const Moment t = session.clock();
  session.set(Setting::synchronous_commit, "off", true);
  for (const std::string& name : names) {
    co_await session.step();
    const LockRow* const row = session.see(name);
    if (row != nullptr && row->expires_at <= t && row->waiters_until > t) {
      co_await tell(session, name, t);
    }
  }
}

namespace {

// What was concluded concerns all who wait.
bool tells_all(Session& session, const std::string& name) {
  if (!is_run(name) || session.db.makes(Mistake::one_is_told_of_an_outcome)) return false;
  const KeyRow* const key = session.see<KeyRow>(outer_name(name));
  return key != nullptr && key->state != 'P';
}

}  // namespace

Task<void> tell(Session& session, const std::string& name, Moment t) {
  if (session.db.makes(Mistake::never_told)) co_return;
  const std::vector<const TicketRow*> all = session.tickets(name);
  constexpr std::size_t digits_of_client = 32;
  std::string first;
  std::set<std::string> clients;
  for (const TicketRow* const each : all) {
    const bool old = each->contact < t - ticket_lasts;
    if (old && !session.db.makes(Mistake::tickets_last_for_ever)) continue;
    if (first.empty()) first = hex_of(each->attempt);
    clients.insert(hex_of(each->attempt).substr(0, digits_of_client));
  }
  co_await session.step();
  const bool concluded = tells_all(session, name);
  if (!concluded && first.empty() && !all.empty()) co_return;
  if (!session.db.makes(Mistake::lock_timeout_bounds_notify)) {
    session.set(Setting::lock_timeout, "0", true);
  }
  const std::string words = (is_run(name) ? "key " : "") + hex_of(outer_name(name));
  if (first.empty() || concluded) {
    session.notify(session.db.options.schema, words);
    for (const std::string& each : clients) session.notify("mortise_" + each, words);
  } else {
    session.notify("mortise_" + first.substr(0, digits_of_client), words + " " + first);
  }
}

}  // namespace simulation::postgres
