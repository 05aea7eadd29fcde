// SPDX-License-Identifier: MIT
// share.sql, but for tell(), which is in release.cpp, and share_rows.cpp.
#include "simulation/postgres/functions.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace simulation::postgres {
namespace {

/// What take_share() has found.
struct Found {
  LockTuple* tuple = nullptr;
  LockRow row{};
  Moment t = 0;
  bool held = false;
  bool guarded = false;
  bool downgrades = false;
  std::int64_t room = 0;
  std::int64_t ahead = 0;
  bool has_ticket = false;

  [[nodiscard]] bool admitted() const noexcept { return downgrades || ahead < room; }
};

LockRow share_of(const ShareRequest& request, std::int64_t number, Moment t) {
  const TakeRequest& take = request.take;
  return {.name = share_name(take.name, take.attempt),
          .number = number,
          .attempt = take.attempt,
          .lease = take.lease,
          .expires_at = t + take.lease,
          .label = take.label};
}

void watched(const Session& session, const ShareRequest& request, const LockRow& share) {
  LockRow told = share;
  told.name = request.take.name;
  session.granted(told);
}

/// There is no row of that name yet.
Task<std::string> share_new(Session& session, const ShareRequest& request) {
  const How how(request.take.how);
  LockRow row{.name = request.take.name,
              .attempt = request.take.attempt,
              .lease = -request.take.lease,
              .label = mark_of(request.permits) + request.take.label};
  if (how.strays) row.buried = bury({}, request.take.attempt, how.copy, session.clock());
  const LockTuple* const added = co_await add_row(session, std::move(row));
  if (added == nullptr) co_return "L";
  const LockRow& its = session.row(*added);
  watched(session, request, share_of(request, its.number, its.expires_at - request.take.lease));
  session.commit_on_disk();
  co_return std::to_string(its.number);
}

std::string granted_words(const LockRow& share, Moment t) {
  return "G " + std::to_string(share.number) + " " +
         std::to_string(std::abs(share.lease) - (share.expires_at - t)) + " " +
         std::to_string(std::abs(share.lease));
}

/// @return what it is refused with; empty = nothing
std::string find_room(const Session& session, const ShareRequest& request, Found& found) {
  const bool fair = How(request.take.how).fair;
  const std::string& name = request.take.name;
  const std::optional<std::int64_t> permits = permits_in(found.row.label);
  if (request.permits > 0) {
    const bool others = fair ? found.ahead > 0 : found.row.waiters_until > found.t;
    if (permits && *permits != request.permits && (found.held || others)) {
      return "M " + std::to_string(*permits);
    }
    found.room = request.permits;
    if (found.held && found.row.lease < 0) {
      --found.room;
    } else if (found.held) {
      found.room -= live_shares(session, name, found.t);
      if (session.db.makes(Mistake::permit_counted_twice)) --found.room;
    }
    if (session.db.makes(Mistake::one_permit_too_many)) ++found.room;
    return {};
  }
  const bool shared = found.held && found.row.lease == 0;
  found.room = found.held && found.row.lease > 0 ? 0 : 1;
  if (session.db.makes(Mistake::second_reader_kept_out) && found.row.lease < 0 && found.held) {
    found.room = 0;
  }
  const std::string& beside = request.beside;
  for (const LockRow* const each : session.shares(name)) {
    if (!shared || each->expires_at <= found.t) continue;
    if (each->owns) found.room = 0;
    if (each->owns && each->attempt == beside) found.downgrades = true;
    if (each->attempt.empty() && !fair) found.ahead = 1;
  }
  if (session.db.makes(Mistake::reader_overtakes_a_writer)) found.ahead = 0;
  if (found.held && found.row.lease > 0 && !beside.empty()) {
    found.downgrades = found.row.attempt == beside;
  }
  return {};
}

/// Whoever came before it to have the name alone, and still asks, has it first (L6).
void judge_turn(const Session& session, const ShareRequest& request, const Found& found) {
  if (request.permits > 0 || found.downgrades) return;
  const std::string& name = request.take.name;
  bool waits = false;
  if (How(request.take.how).fair) {
    for (const TicketRow* const each : session.tickets(name)) {
      if (each->attempt == request.take.attempt) break;
      waits = waits || (!each->reads && each->contact >= found.t - ticket_lasts);
    }
  } else if (found.held && found.row.lease == 0) {
    const LockRow* const head = session.see(share_name(name, ""));
    waits = head != nullptr && head->waiters_until > found.t;
  }
  if (waits) session.db.break_rule("a reader has overtaken a writer that waits");
}

/// The lapsed ones go.
Task<void> clear_out(Session& session, const std::string& name, Moment t) {
  std::optional<std::int64_t> last;
  co_await session.step();
  for (const LockRow* const each : session.shares(name)) {
    if (each->attempt.empty() || each->expires_at > t) continue;
    last = std::max(last.value_or(each->number), each->number);
  }
  if (!last) co_return;
  remove_shares(session, name,
                [t](const LockRow& each) { return !each.attempt.empty() && each.expires_at <= t; });
  LockRow head = *session.see(share_name(name, ""));
  head.number = std::max(head.number, *last);
  rewrite_share(session, std::move(head));
  co_await session.step();
}

/// It is held, by several from now on.
Task<void> join_others(Session& session, const ShareRequest& request, const Found& found,
                       const LockRow& its) {
  const std::string& name = request.take.name;
  if (found.row.lease != 0) {
    co_await spread(session, *found.tuple);
  } else {
    co_await clear_out(session, name, found.t);
  }
  if (found.downgrades && found.row.lease != 0) {
    LockRow owner = *share(session, name, request.beside);
    owner.lease = found.row.lease;
    owner.label = found.row.label;
    owner.owns = true;
    rewrite_share(session, std::move(owner));
  }
  co_await put_share(session, its);
  co_await session.step();
}

/// What it is told.
std::string number_words(const Session& session, std::int64_t number) {
  constexpr std::int64_t too_much = 5'000'000;
  if (session.db.makes(Mistake::number_of_a_reader_is_too_large)) number += too_much;
  return std::to_string(number);
}

/// Nobody is kept out for whom there is room.
void judge_refusal(const Session& session, const ShareRequest& request, const Found& found) {
  const bool fair = How(request.take.how).fair;
  if (found.guarded || found.ahead > 0) return;
  std::int64_t live = 0;
  bool owned = found.held && found.row.lease > 0;
  bool kept = false;
  if (found.held && found.row.lease < 0) ++live;
  for (const LockRow* const each : session.shares(request.take.name)) {
    if (!found.held || found.row.lease != 0 || each->expires_at <= found.t) continue;
    live += each->attempt.empty() ? 0 : 1;
    owned = owned || each->owns;
    kept = kept || (each->attempt.empty() && !fair);
  }
  const bool room = request.permits > 0 ? live < request.permits : !owned && !kept;
  if (room) session.db.break_rule("somebody is kept out for whom there is room");
}

Task<std::string> join(Session& session, const ShareRequest& request, Found found) {
  const Moment t = found.t;
  const std::int64_t number = std::max(found.row.number + 1, epoch(t));
  const LockRow its = share_of(request, number, t);
  watched(session, request, its);
  if (found.held) {
    Task<void> joins = join_others(session, request, found, its);
    co_await joins;
  } else {
    co_await session.step();
  }
  LockRow row = session.row(*found.tuple);
  row.buried = found.row.buried;
  if (row.buried) row.buried = unbury(*row.buried, t);
  if (!found.held) {
    row.attempt = its.attempt;
    row.lease = -its.lease;
  }
  row.expires_at = std::max(found.held ? row.expires_at : minus_infinity, its.expires_at);
  row.number = number;
  row.label = mark_of(request.permits) + request.take.label;
  session.write(*found.tuple, std::move(row));
  if (found.has_ticket) delete_ticket(session, request.take.name, request.take.attempt);
  session.commit_on_disk();
  co_return number_words(session, number);
}

Task<void> wait_to_share(Session& session, const ShareRequest& request, const Found& found) {
  const std::string& name = request.take.name;
  if (How(request.take.how).fair) {
    bool there = false;
    for (const TicketRow* const each : session.tickets(name)) {
      if (each->attempt != request.take.attempt) continue;
      TicketRow row = *each;
      row.contact = found.t;
      session.write_ticket(row, false);
      there = true;
    }
    co_await session.step();
    if (!there) {
      session.write_ticket({.name = name,
                            .ticket = ++session.db.last_ticket,
                            .attempt = request.take.attempt,
                            .contact = found.t,
                            .reads = true},
                           false);
    }
  }
  LockRow row = session.row(*found.tuple);
  if (row.waiters_until < found.t + 5 * second && !session.db.makes(Mistake::nobody_waits)) {
    co_await session.step();
    row.waiters_until = found.t + 30 * second;
    session.write(*found.tuple, std::move(row));
  }
}

std::string kept_out_words(const Session& session, const ShareRequest& request,
                           const Found& found) {
  Moment ends = found.row.expires_at;
  if (request.permits > 0 && found.row.lease == 0) {
    ends = infinity;
    for (const LockRow* const each : session.shares(request.take.name)) {
      if (each->attempt.empty() || each->expires_at <= found.t) continue;
      ends = std::min(ends, each->expires_at);
    }
  }
  return std::string(How(request.take.how).waits ? "Q" : "B") + " " +
         std::to_string(found.row.number) + " " + std::to_string(ends - found.t) + " " +
         hex_of(request.permits > 0 ? '\1' + label_in(found.row) : found.row.label);
}

/// Those who have stopped asking go; then who is in front.
Task<void> look_at_queue(Session& session, const ShareRequest& request, Found& found) {
  const std::string& name = request.take.name;
  co_await session.step();
  delete_old_tickets(session, name, found.t);
  co_await session.step();
  for (const TicketRow* const each : session.tickets(name)) {
    if (each->attempt == request.take.attempt) {
      found.has_ticket = true;
      co_return;
    }
    if (request.permits > 0 || !each->reads) ++found.ahead;
  }
}

}  // namespace

Task<std::string> quick_share(Session& session, const ShareRequest& request) {
  const How how(request.take.how);
  const bool in_order = how.fair || request.permits > 0;
  std::int64_t number = 0;
  const Where where = [&](const LockRow& row, const TupleLocks& tuple) {
    const Moment t = session.clock();
    const bool untouched = tuple.writer == &session
                               ? tuple.pending_xmax == 0 || tuple.pending_xmax == tuple.pending_xmin
                               : tuple.xmax == 0 || tuple.xmax == tuple.xmin;
    return row.expires_at <= t && untouched && !row.buried && (!in_order || row.waiters_until <= t);
  };
  const Set set = [&](LockRow& row) {
    const Moment t = session.clock();
    number = std::max(row.number + 1, epoch(t));
    watched(session, request, share_of(request, number, t));
    row.number = number;
    row.attempt = request.take.attempt;
    row.lease = -request.take.lease;
    row.label = mark_of(request.permits) + request.take.label;
    row.expires_at = t + request.take.lease;
  };
  const LockTuple* const taken = co_await session.update(request.take.name, where, set);
  if (taken != nullptr) {
    // Somebody who had to wait came before it in this transaction.
    if (session.setting(Setting::synchronous_commit) == "off") session.commit_on_disk();
    co_return number_words(session, number);
  }
  co_await session.step();
  co_return co_await take_share(session, request);
}

Task<std::string> take_share(Session& session, const ShareRequest& request) {
  const TakeRequest& take = request.take;
  const How how(take.how);
  const bool shares = session.transaction().xid != 0;
  Found found;
  found.tuple = co_await session.lock_row(take.name, Strength::update, true);
  if (found.tuple == nullptr) {
    co_await session.step();
    if (session.see(take.name) == nullptr) co_return co_await share_new(session, request);
    if (!how.waits) co_return "L";
    found.tuple = co_await session.lock_row(take.name, Strength::no_key_update, true);
    if (found.tuple == nullptr) co_return "L";
    found.guarded = true;
  }
  co_await session.step();
  const Moment t = found.t = session.clock();
  LockRow& row = found.row = session.row(*found.tuple);
  found.held = row.expires_at > t;
  if (row.buried && !session.db.makes(Mistake::late_copy_not_refused)) {
    const auto tombstone = row.buried->find(take.attempt);
    if (tombstone != row.buried->end() && tombstone->second.copy > how.copy) co_return "R";
  }
  if (how.strays) {
    row.buried = bury(row.buried, take.attempt, how.copy, t);
    session.write(*found.tuple, row);
    co_await session.step();
  }
  if (found.held && row.lease == 0) {
    const LockRow* const its = share(session, take.name, take.attempt);
    if (its != nullptr && its->expires_at > t) {
      session.commit_on_disk();
      co_return granted_words(*its, t);
    }
  } else if (found.held && row.lease < 0 && row.attempt == take.attempt) {
    session.commit_on_disk();
    co_return granted_words(row, t);
  }
  if (how.fair && row.waiters_until > t) co_await look_at_queue(session, request, found);
  std::string refused = find_room(session, request, found);
  if (!refused.empty()) co_return refused;
  if (found.admitted() && !found.guarded) {
    judge_turn(session, request, found);
    Task<std::string> joins = join(session, request, found);
    co_return co_await joins;
  }
  judge_refusal(session, request, found);
  session.only_looks(shares);
  if (how.waits) co_await wait_to_share(session, request, found);
  if (found.admitted()) co_return "L";
  if (!found.held || (request.permits > 0 && found.room > 0)) co_return "A";
  co_return kept_out_words(session, request, found);
}

Task<std::string> ask_to_share(Session& session, const ShareRequest& request) {
  constexpr std::int64_t own_session = 8;
  constexpr std::int64_t strays = 4;
  const bool plain = (request.take.how & (own_session | strays)) == own_session;
  Task<std::string> take_it = plain ? quick_share(session, request) : take_share(session, request);
  co_return co_await take_it;
}

Task<Value> ask_share(Session& session, const ShareRequest& request) {
  const How how(request.take.how);
  const LockRow* const row = session.see(request.take.name);
  const Moment t = session.clock();
  const bool written =
      !how.waits || (!how.fair && row != nullptr && row->waiters_until > t + 5 * second);
  const bool kept_out = row != nullptr && row->expires_at > t && row->lease > 0;
  if (kept_out && request.beside.empty() && !how.strays && written) {
    co_return Value::binary(holder_bytes(*row, t));
  }
  std::string answer = co_await ask_to_share(session, request);
  session.db.note_answer(answer);
  co_return Value::binary(std::move(answer));
}

}  // namespace simulation::postgres
