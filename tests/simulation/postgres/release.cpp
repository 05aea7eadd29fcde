// SPDX-License-Identifier: MIT
// release.sql.
#include "simulation/postgres/functions.hpp"

#include <set>

namespace simulation::postgres {

Task<std::string> release_row(Session& session, const std::string& name, const std::string& attempt,
                              std::int64_t number) {
  LockTuple* const tuple = co_await session.lock_row(name, Strength::no_key_update, true);
  if (tuple == nullptr) {
    co_await session.step();
    const LockRow* const row = session.see(name);
    const bool its = row != nullptr && row->attempt == attempt && row->number == number;
    const bool shared = row != nullptr && !is_run(name) && row->lease == 0;
    co_return shared || its ? "L" : "N";
  }
  co_await session.step();
  session.set(Setting::synchronous_commit, "off", true);
  const Moment t = session.clock();
  LockRow row = session.row(*tuple);
  const LockRow whole = row;
  const bool shared = !is_run(name) && row.lease == 0;
  bool owned = false;
  if (shared) {
    const LockRow* const its_share = share(session, name, attempt);
    const LockRow* const head = session.see(share_name(name, ""));
    row.attempt = attempt;
    if (its_share != nullptr) {
      row.number = its_share->number;
      row.expires_at = std::min(its_share->expires_at, row.expires_at);
      owned = its_share->owns;
    } else if (head != nullptr && head->number < number && number <= row.number) {
      row.number = number;
      row.expires_at = minus_infinity;
    } else {
      row.attempt.clear();
      row.number = 0;
    }
  }
  const bool not_his = (row.attempt != attempt || row.number != number) &&
                       !session.db.makes(Mistake::release_ignores_attempt);
  const bool wakes = !session.db.makes(Mistake::release_waits_for_notify);
  char outcome = not_his                            ? 'N'
                 : row.expires_at == minus_infinity ? 'A'
                 : row.expires_at <= t              ? 'X'
                                                    : 'F';
  if (outcome == 'F' || outcome == 'X') {
    bool opens = true;
    Moment ends = minus_infinity;
    if (shared) {
      if (outcome != 'X') session.remove(*session.find(share_name(name, attempt)));
      co_await session.step();
      ends = last_end(session, name, t);
      if (session.db.makes(Mistake::one_reader_lets_go_for_all)) ends = minus_infinity;
      opens = is_gate(name) || owned || ends == minus_infinity;
    }
    LockRow freed = whole;
    freed.expires_at = ends;
    session.write(*tuple, std::move(freed));
    if (!opens) co_return std::string(1, outcome);
    if (row.waiters_until > t && wakes) {
      outcome = outcome == 'F' ? 'T' : 'Y';
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
  if (!How(how).own_session) settle(session);
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
  if (session.setting(Setting::search_path) != "ours") settle(session);
  co_return co_await release_row(session, name, attempt, number);
}

Task<void> wake(Session& session, const std::vector<std::string>& names) {
  const Moment t = session.clock();
  session.set(Setting::synchronous_commit, "off", true);
  for (const std::string& name : names) {
    co_await session.step();
    const LockRow* const row = session.see(name);
    if (row == nullptr || row->waiters_until <= t) continue;
    if (row->expires_at <= t || (!is_run(name) && row->lease <= 0)) {
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
  const LockRow* const row = session.see(name);
  const bool held = row != nullptr && row->expires_at > t;
  std::int64_t room = INT64_MAX;
  if (const auto permits = permits_in(row == nullptr ? "" : row->label); permits && is_gate(name)) {
    room = *permits - (!held ? 0 : row->lease < 0 ? 1 : live_shares(session, name, t));
  }
  constexpr std::size_t digits_of_client = 32;
  std::vector<std::string> first;  // those who are told by themselves
  std::set<std::string> clients;
  bool ends = false;
  for (const TicketRow* const each : all) {
    const bool old = each->contact < t - ticket_lasts;
    if (old && !session.db.makes(Mistake::tickets_last_for_ever)) continue;
    const std::string attempt = hex_of(each->attempt);
    clients.insert(attempt.substr(0, digits_of_client));
    const auto told = static_cast<std::int64_t>(first.size());
    ends = ends || told >= room || (!each->reads && (told > 0 || (held && !is_run(name))));
    if (!ends) first.push_back(attempt);
    ends = ends || !each->reads;
    if (session.db.makes(Mistake::one_reader_is_told)) ends = true;
  }
  co_await session.step();
  const bool concluded = tells_all(session, name);
  if (is_run(name) && !concluded && first.empty() && !all.empty()) co_return;
  if (!session.db.makes(Mistake::lock_timeout_bounds_notify)) {
    session.set(Setting::lock_timeout, "0", true);
  }
  const std::string words = std::string(is_run(name)    ? "key "
                                        : is_gate(name) ? "permit "
                                                        : "") +
                            hex_of(outer_name(name));
  if (concluded || all.empty()) {
    session.notify(session.db.options.schema, words);
    for (const std::string& each : clients) session.notify("mortise_" + each, words);
    co_return;
  }
  for (const std::string& each : first) {
    session.notify("mortise_" + each.substr(0, digits_of_client), words + " " + each);
  }
}

}  // namespace simulation::postgres
