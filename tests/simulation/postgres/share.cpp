// SPDX-License-Identifier: MIT
// share_row() of share.sql; tell() is in release.cpp, and the rest in share_rows.cpp.
#include "simulation/postgres/functions.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace simulation::postgres {
namespace {

/// What share_row() has found.
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

/// @return how many there are; 0: it is not about permits
std::int64_t permits_of(const TakeRequest& request) {
  return is_gate(request.name) ? permits_in(request.label).value_or(0) : 0;
}

LockRow share_of(const TakeRequest& request, std::int64_t number, Moment t) {
  return {.name = share_name(request.name, request.attempt),
          .number = number,
          .attempt = request.attempt,
          .lease = request.lease,
          .expires_at = t + request.lease,
          .label = label_in({.name = request.name, .label = request.label})};
}

void watched(const Session& session, const TakeRequest& request, const LockRow& share) {
  LockRow told = share;
  told.name = request.name;
  session.granted(told);
}

/// There is no row of that name yet.
Task<std::string> share_new(Session& session, const TakeRequest& request) {
  if (came_late(session, session.clock(), request.void_after)) co_return "V";
  LockRow row{.name = request.name,
              .attempt = request.attempt,
              .lease = -request.lease,
              .label = request.label};
  const LockTuple* const added = co_await add_row(session, std::move(row), request.void_after);
  if (added == nullptr) co_return "L";
  const LockRow& its = session.row(*added);
  watched(session, request, share_of(request, its.number, its.expires_at - request.lease));
  session.commit_on_disk();
  co_return std::to_string(its.number);
}

std::string granted_words(const LockRow& share, Moment t) {
  return "G " + std::to_string(share.number) + " " +
         std::to_string(std::abs(share.lease) - (share.expires_at - t)) + " " +
         std::to_string(std::abs(share.lease));
}

/// @return what it is refused with; empty = nothing
std::string find_room(const Session& session, const TakeRequest& request, Found& found) {
  const bool fair = How(request.how).fair;
  const std::string& name = request.name;
  const std::optional<std::int64_t> permits = permits_in(found.row.label);
  if (permits_of(request) > 0) {
    const bool others = fair ? found.ahead > 0 : found.row.waiters_until > found.t;
    if (permits && *permits != permits_of(request) && (found.held || others)) {
      return "M " + std::to_string(*permits);
    }
    found.room = permits_of(request);
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
void judge_turn(const Session& session, const TakeRequest& request, const Found& found) {
  if (permits_of(request) > 0 || found.downgrades) return;
  const std::string& name = request.name;
  bool waits = false;
  if (How(request.how).fair) {
    for (const TicketRow* const each : session.tickets(name)) {
      if (each->attempt == request.attempt) break;
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
Task<void> join_others(Session& session, const TakeRequest& request, const Found& found,
                       const LockRow& its) {
  const std::string& name = request.name;
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

/// Nobody is kept out for whom there is room.
void judge_refusal(const Session& session, const TakeRequest& request, const Found& found) {
  const bool fair = How(request.how).fair;
  if (found.guarded || found.ahead > 0) return;
  std::int64_t live = 0;
  bool owned = found.held && found.row.lease > 0;
  bool kept = false;
  if (found.held && found.row.lease < 0) ++live;
  for (const LockRow* const each : session.shares(request.name)) {
    if (!found.held || found.row.lease != 0 || each->expires_at <= found.t) continue;
    live += each->attempt.empty() ? 0 : 1;
    owned = owned || each->owns;
    kept = kept || (each->attempt.empty() && !fair);
  }
  const bool room = permits_of(request) > 0 ? live < permits_of(request) : !owned && !kept;
  if (room) session.db.break_rule("somebody is kept out for whom there is room");
}

Task<std::string> join(Session& session, const TakeRequest& request, Found found) {
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
  if (!found.held) {
    row.attempt = its.attempt;
    row.lease = -its.lease;
  }
  row.expires_at = std::max(found.held ? row.expires_at : minus_infinity, its.expires_at);
  row.number = number;
  row.label = request.label;
  session.write(*found.tuple, std::move(row));
  if (found.has_ticket) delete_ticket(session, request.name, request.attempt);
  session.commit_on_disk();
  co_return number_words(session, number);
}

Task<void> wait_to_share(Session& session, const TakeRequest& request, const Found& found) {
  const std::string& name = request.name;
  if (How(request.how).fair) {
    bool there = false;
    for (const TicketRow* const each : session.tickets(name)) {
      if (each->attempt != request.attempt) continue;
      TicketRow row = *each;
      row.contact = found.t;
      session.write_ticket(row, false);
      there = true;
    }
    co_await session.step();
    if (!there) {
      session.write_ticket({.name = name,
                            .ticket = ++session.db.last_ticket,
                            .attempt = request.attempt,
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

std::string kept_out_words(const Session& session, const TakeRequest& request, const Found& found) {
  Moment ends = found.row.expires_at;
  if (permits_of(request) > 0 && found.row.lease == 0) {
    ends = infinity;
    for (const LockRow* const each : session.shares(request.name)) {
      if (each->attempt.empty() || each->expires_at <= found.t) continue;
      ends = std::min(ends, each->expires_at);
    }
  }
  return std::string(How(request.how).waits ? "Q" : "B") + " " + std::to_string(found.row.number) +
         " " + std::to_string(ends - found.t) + " " +
         hex_of(permits_of(request) > 0 ? '\1' + label_in(found.row) : found.row.label);
}

/// Those who have stopped asking go; then who is in front.
Task<void> look_at_queue(Session& session, const TakeRequest& request, Found& found) {
  const std::string& name = request.name;
  co_await session.step();
  delete_old_tickets(session, name, found.t);
  co_await session.step();
  for (const TicketRow* const each : session.tickets(name)) {
    if (each->attempt == request.attempt) {
      found.has_ticket = true;
      co_return;
    }
    if (permits_of(request) > 0 || !each->reads) ++found.ahead;
  }
}

}  // namespace

std::string number_words(const Session& session, std::int64_t number) {
  constexpr std::int64_t too_much = 5'000'000;
  if (session.db.makes(Mistake::number_of_a_reader_is_too_large)) number += too_much;
  return std::to_string(number);
}

Task<std::string> share_row(Session& session, const TakeRequest& request) {
  const How how(request.how);
  const bool shares = session.transaction().xid != 0;
  if (how.waits && !how.fair && !is_gate(request.name) && request.beside.empty()) {
    std::string answer = co_await waits_already(session, request);
    co_await session.step();
    if (!answer.empty()) co_return answer;
  }
  Found found;
  found.tuple = co_await session.lock_row(request.name, Strength::update, true);
  if (found.tuple == nullptr) {
    co_await session.step();
    if (session.see(request.name) == nullptr) co_return co_await share_new(session, request);
    if (!how.waits) co_return "L";
    found.tuple = co_await session.lock_row(request.name, Strength::no_key_update, true);
    if (found.tuple == nullptr) co_return "L";
    found.guarded = true;
  }
  co_await session.step();
  const Moment t = found.t = session.clock();
  LockRow& row = found.row = session.row(*found.tuple);
  found.held = row.expires_at > t;
  if (came_late(session, t, request.void_after)) co_return "V";
  if (found.held && row.lease == 0) {
    const LockRow* const its = share(session, request.name, request.attempt);
    if (its != nullptr && its->expires_at > t) {
      session.commit_on_disk();
      co_return granted_words(*its, t);
    }
  } else if (found.held && row.lease < 0 && row.attempt == request.attempt) {
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
  if (!found.held || (permits_of(request) > 0 && found.room > 0)) co_return "A";
  co_return kept_out_words(session, request, found);
}

}  // namespace simulation::postgres
