// SPDX-License-Identifier: MIT
// add_row.sql, take.sql and take_row.sql.
#include "simulation/postgres/functions.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace simulation::postgres {
namespace {

std::int64_t next_number(const Session& session, std::int64_t last, Moment t) {
  if (session.db.makes(Mistake::number_by_clock_only)) return epoch(t);
  if (session.db.makes(Mistake::number_never_by_clock)) return last + 1;
  return std::max(last + 1, epoch(t));
}

void make_owner(const Session& session, LockRow& row, const TakeRequest& request, Moment t) {
  row.number = next_number(session, row.number, t);
  row.attempt = request.attempt;
  row.lease = request.lease;
  row.label = request.label;
  row.expires_at = t + request.lease;
  session.granted(row);
}

void on_disk(Session& session) {
  if (session.db.makes(Mistake::grant_not_on_disk)) {
    session.set(Setting::synchronous_commit, "off", true);
  } else {
    session.commit_on_disk();
  }
}

/// There is no row of that name yet.
Task<std::string> take_new(Session& session, const TakeRequest& request) {
  if (came_late(session, session.clock(), request.void_after)) co_return "V";
  LockRow row{.name = request.name,
              .attempt = request.attempt,
              .lease = request.lease,
              .label = request.label};
  const LockTuple* const added = co_await add_row(session, std::move(row), request.void_after);
  if (added == nullptr) co_return "L";
  session.granted(session.row(*added));
  on_disk(session);
  co_return std::to_string(session.row(*added).number);
}

/// Nothing for one that waits yet: writes down that it does.
Task<void> wait_in(Session& session, LockTuple& tuple, const TakeRequest& request, Moment t) {
  const How how(request.how);
  if (how.fair) {
    bool found = false;
    for (const TicketRow* const each : session.tickets(request.name)) {
      if (each->attempt != request.attempt) continue;
      TicketRow row = *each;
      row.contact = t;
      session.write_ticket(row, false);
      found = true;
    }
    co_await session.step();
    if (!found) {
      session.write_ticket({.name = request.name,
                            .ticket = ++session.db.last_ticket,
                            .attempt = request.attempt,
                            .contact = t},
                           false);
    }
  }
  LockRow row = session.row(tuple);
  if (!how.fair && row.expires_at > t && row.lease <= 0) {
    if (row.lease < 0) {
      co_await spread(session, tuple);
      row = session.row(tuple);
    }
    // Nobody joins those who share it, as long as it goes on asking.
    if (const LockRow* const there = session.see(share_name(request.name, ""))) {
      LockRow head = *there;
      head.waiters_until = t + ticket_lasts;  // for those who judge
      head.label = request.attempt;
      const bool unseen = session.db.makes(Mistake::writer_is_not_seen_to_wait);
      if (!unseen) head.expires_at = t + ticket_lasts;
      rewrite_share(session, std::move(head));
    }
    co_await session.step();
  }
  if (row.waiters_until < t + 5 * second && !session.db.makes(Mistake::nobody_waits)) {
    co_await session.step();
    row.waiters_until = t + 30 * second;
    session.write(tuple, std::move(row));
  }
}

/// @return whose turn it is; empty = nobody's.
Task<std::string> first_in_line(Session& session, const TakeRequest& request, const LockRow& row,
                                Moment t) {
  if (row.waiters_until <= t || session.db.makes(Mistake::take_in_wrong_turn)) {
    co_return std::string();
  }
  co_await session.step();
  delete_old_tickets(session, request.name, t);
  co_await session.step();
  const std::vector<const TicketRow*> left = session.tickets(request.name);
  co_return left.empty() ? std::string() : left.front()->attempt;
}

std::string owner_words(const char* letter, const LockRow& row, Moment t) {
  return std::string(letter) + " " + std::to_string(row.number) + " " +
         std::to_string(row.expires_at - t) + " " + hex_of(row.label);
}

}  // namespace

bool came_late(const Session& session, Moment t, Moment void_after) {
  return t > void_after && !session.db.makes(Mistake::void_is_not_looked_at);
}

void settle(Session& session) {
  session.set(Setting::search_path, "ours", true);
  session.set(Setting::lock_timeout, "50ms", true);
  session.commit_on_disk();
}

bool delete_ticket(Session& session, const std::string& name, const std::string& attempt) {
  bool found = false;
  for (const TicketRow* const each : session.tickets(name)) {
    if (each->attempt != attempt) continue;
    session.write_ticket(TicketRow(*each), true);
    found = true;
  }
  return found;
}

void delete_old_tickets(Session& session, const std::string& name, Moment t) {
  if (session.db.makes(Mistake::tickets_last_for_ever)) return;
  for (const TicketRow* const each : session.tickets(name)) {
    if (each->contact < t - ticket_lasts) session.write_ticket(TicketRow(*each), true);
  }
}

Task<LockTuple*> add_row(Session& session, LockRow row, Moment void_after) {
  co_await session.step();
  const Moment t = session.clock();
  const bool run = is_run(row.name);
  row.number = epoch(t);
  if (run && !session.db.makes(Mistake::forgets_numbers_of_removed_keys)) {
    row.number = std::max(row.number, floor_of_keys(session) + 1);
  }
  if (!row.attempt.empty()) row.expires_at = t + std::abs(row.lease);
  const std::int64_t number = row.number;
  const std::string before = session.setting(Setting::lock_timeout);
  const std::size_t mark = session.mark();
  const bool has_waited = session.setting(Setting::has_waited) == "yes";
  session.set(Setting::lock_timeout, has_waited ? "1ms" : "10ms", true);
  LockTuple* added = nullptr;
  bool timed_out = false;
  try {
    added = co_await session.insert(std::move(row));
  } catch (const SqlError& error) {
    if (error.state() != "55P03") throw;
    timed_out = true;
  }
  if (added != nullptr) added->pending_xmin = session.db.next_xid++;  // a subtransaction's
  session.set(Setting::lock_timeout, before, true);
  if (timed_out) session.set(Setting::has_waited, "yes", true);
  if (added == nullptr) co_return nullptr;
  // A row of this name may have come and gone since the number was drawn.
  const bool too_small = run && number <= floor_of_keys(session) &&
                         !session.db.makes(Mistake::forgets_numbers_of_removed_keys);
  if (!too_small && !came_late(session, session.clock(), void_after)) co_return added;
  session.undo_to(mark);
  session.set(Setting::has_waited, "yes", true);
  co_return nullptr;
}

Task<std::string> waits_already(Session& session, const TakeRequest& request) {
  const Moment t = session.clock();
  const LockRow* const row = session.see(request.name);
  if (row == nullptr || row->expires_at <= t || row->attempt == request.attempt ||
      row->lease <= 0 || row->waiters_until <= t + 5 * second) {
    co_return std::string();
  }
  co_return owner_words("Q", *row, t);
}

Task<std::string> take_row(Session& session, const TakeRequest& request) {
  const How how(request.how);
  const bool shares = session.transaction().xid != 0;
  if (how.waits && !how.fair) {
    std::string answer = co_await waits_already(session, request);
    co_await session.step();
    if (!answer.empty()) co_return answer;
  }
  LockTuple* tuple = nullptr;
  if (!request.seen_run || !how.waits) {
    tuple = co_await session.lock_row(request.name, Strength::update, true);
  }
  bool guarded = false;
  if (tuple == nullptr) {
    co_await session.step();
    if (session.see(request.name) == nullptr) co_return co_await take_new(session, request);
    if (session.db.makes(Mistake::locked_row_is_free) &&
        session.see(request.name)->expires_at <= session.clock()) {
      tuple = co_await session.lock_row(request.name, Strength::update, false);
      LockRow row = session.row(*tuple);
      make_owner(session, row, request, session.clock());
      session.write(*tuple, row);
      co_return std::to_string(row.number);
    }
    if (!how.waits) co_return "L";
    tuple = co_await session.lock_row(request.name, Strength::no_key_update, true);
    if (tuple == nullptr) co_return "L";
    guarded = true;
  }
  co_await session.step();
  const Moment t = session.clock();
  LockRow row = session.row(*tuple);
  const bool robs = is_run(row.name) && session.db.makes(Mistake::two_run_a_key);
  const bool free = row.expires_at <= t || (robs && row.attempt != request.attempt);
  if (came_late(session, t, request.void_after)) co_return "V";
  if (!free && row.attempt == request.attempt) {
    session.commit_on_disk();
    co_return "G " + std::to_string(row.number) + " " +
        std::to_string(row.lease - (row.expires_at - t)) + " " + std::to_string(row.lease);
  }
  if (!free && row.lease == 0) {
    const LockRow* const its = share(session, request.name, request.attempt);
    if (its != nullptr && its->expires_at > t) {
      session.commit_on_disk();
      co_return "G " + std::to_string(its->number) + " " +
          std::to_string(its->lease - (its->expires_at - t)) + " " + std::to_string(its->lease);
    }
  }
  std::string first;
  if (free && how.fair) first = co_await first_in_line(session, request, row, t);
  if (free && !guarded && (first.empty() || first == request.attempt)) {
    co_await session.step();
    make_owner(session, row, request, t);
    session.write(*tuple, row);
    if (!first.empty()) delete_ticket(session, request.name, request.attempt);
    on_disk(session);
    co_return std::to_string(row.number);
  }
  session.only_looks(shares);
  if (how.waits) co_await wait_in(session, *tuple, request, t);
  if (free) co_return guarded ? "L" : "A";
  co_return owner_words(how.waits ? "Q" : "B", row, t);
}

Task<std::string> take(Session& session, const TakeRequest& request) {
  const How how(request.how);
  if (!how.own_session) settle(session);
  const bool in_order = how.fair || is_gate(request.name);
  const Where where = [&](const LockRow& row, const TupleLocks& tuple) {
    const Moment t = session.clock();
    const bool untouched = tuple.writer == &session
                               ? tuple.pending_xmax == 0 || tuple.pending_xmax == tuple.pending_xmin
                               : tuple.xmax == 0 || tuple.xmax == tuple.xmin;
    return row.expires_at <= t && untouched && (!in_order || row.waiters_until <= t) &&
           !came_late(session, t, request.void_after);
  };
  const Set set = [&](LockRow& row) {
    const Moment t = session.clock();
    row.number = next_number(session, row.number, t);
    row.attempt = request.attempt;
    row.lease = request.lease;
    row.label = request.label;
    row.expires_at = t + std::abs(request.lease);
  };
  LockTuple* const taken = co_await session.update(request.name, where, set);
  if (taken != nullptr) {
    LockRow row = session.row(*taken);
    if (came_late(session, session.clock(), request.void_after)) {
      co_await session.step();
      row.expires_at = minus_infinity;
      session.write(*taken, std::move(row));
      co_return "V";
    }
    row.lease = std::abs(row.lease);  // for those who judge
    session.granted(row);
    if (session.db.makes(Mistake::grant_not_on_disk)) on_disk(session);
    // Somebody who had to wait came before it in this transaction.
    const bool off = session.setting(Setting::synchronous_commit) == "off";
    if (off && !session.db.makes(Mistake::grant_behind_a_waiter_not_on_disk)) on_disk(session);
    co_return request.shares() ? number_words(session, row.number) : std::to_string(row.number);
  }
  co_await session.step();
  if (session.setting(Setting::search_path) != "ours") settle(session);
  if (!request.shares()) co_return co_await take_row(session, request);
  TakeRequest as_one_of_several = request;
  as_one_of_several.lease = -request.lease;
  co_return co_await share_row(session, as_one_of_several);
}

}  // namespace simulation::postgres
