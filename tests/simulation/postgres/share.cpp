// SPDX-License-Identifier: MIT
// share.sql, but for tell(), which is in release.cpp.
#include "simulation/postgres/functions.hpp"

#include <algorithm>
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

Task<void> put(Session& session, LockRow row) {
  const LockTuple* const inserted = co_await session.insert(std::move(row));
  if (inserted == nullptr) throw SqlError("23505", "duplicate key value of a share");
}

void remove_if(Session& session, const std::string& name,
               const std::function<bool(const LockRow&)>& goes) {
  for (const LockRow* const each : session.shares(name)) {
    if (goes(*each)) session.remove(*session.find(each->name));
  }
}

void watched(const Session& session, const ShareRequest& request, const LockRow& share) {
  LockRow told = share;
  told.name = request.take.name;
  session.granted(told);
}

/// There is no row of that name yet.
Task<std::string> share_new(Session& session, const ShareRequest& request) {
  const How how(request.take.how);
  const std::string& name = request.take.name;
  co_await session.step();
  if (!session.try_advisory(name)) co_return "L";
  co_await session.step();
  const Moment t = session.clock();
  LockRow row{.name = name,
              .number = epoch(t),
              .attempt = permits_marker(request.permits),
              .expires_at = t + request.take.lease,
              .label = shared_label(request.take.label)};
  if (how.strays) row.buried = bury({}, request.take.attempt, how.copy, t);
  const LockTuple* const inserted = co_await session.insert(row);
  if (inserted == nullptr) co_return "L";
  co_await session.step();
  remove_if(session, name, [](const LockRow&) { return true; });
  LockRow head{.name = share_name(name, ""), .number = row.number - 1};
  co_await put(session, std::move(head));
  LockRow its = share_of(request, row.number, t);
  watched(session, request, its);
  co_await put(session, std::move(its));
  session.commit_on_disk();
  co_return std::to_string(row.number);
}

std::string granted_words(const LockRow& share, Moment t) {
  return "G " + std::to_string(share.number) + " " +
         std::to_string(share.lease - (share.expires_at - t)) + " " + std::to_string(share.lease);
}

/// @return what it is refused with; empty = nothing
std::string find_room(const Session& session, const ShareRequest& request, Found& found) {
  const bool fair = How(request.take.how).fair;
  const std::string& name = request.take.name;
  const std::optional<std::int64_t> permits = permits_in(found.row.attempt);
  if (request.permits > 0) {
    const bool others = fair ? found.ahead > 0 : found.row.waiters_until > found.t;
    if (permits && *permits != request.permits && (found.held || others)) {
      return "M " + std::to_string(*permits);
    }
    found.room = request.permits;
    if (found.held) found.room -= live_shares(session, name, found.t);
    if (session.db.makes(Mistake::one_permit_too_many)) ++found.room;
    return {};
  }
  const bool shared = found.held && found.row.lease == 0;
  found.room = found.held && !shared ? 0 : 1;
  const std::string& beside = request.beside;
  for (const LockRow* const each : session.shares(name)) {
    if (!shared || each->expires_at <= found.t) continue;
    if (each->owns) found.room = 0;
    if (each->owns && each->attempt == beside) found.downgrades = true;
    if (each->attempt.empty() && !fair) found.ahead = 1;
  }
  if (session.db.makes(Mistake::reader_overtakes_a_writer)) found.ahead = 0;
  if (found.held && !shared && !beside.empty()) found.downgrades = found.row.attempt == beside;
  return {};
}

Task<std::string> join(Session& session, const ShareRequest& request, Found found) {
  const std::string& name = request.take.name;
  LockRow& row = found.row;
  const Moment t = found.t;
  const std::int64_t number = std::max(row.number + 1, epoch(t));
  if (row.buried) row.buried = unbury(*row.buried, t);
  const auto over = [&](const LockRow& each) {
    return !each.attempt.empty() && !(found.held && row.lease == 0 && each.expires_at > t);
  };
  std::optional<std::int64_t> last;
  co_await session.step();
  for (const LockRow* const each : session.shares(name)) {
    if (over(*each)) last = std::max(last.value_or(each->number), each->number);
  }
  remove_if(session, name, over);
  if (row.lease != 0) last = row.number - (found.downgrades ? 1 : 0);
  co_await session.step();
  if (const LockRow* const there = session.see(share_name(name, ""))) {
    LockRow head = *there;
    head.number = std::max(head.number, last.value_or(head.number));
    if (!found.held) head.expires_at = minus_infinity;
    session.write(*session.find(head.name), std::move(head));
  } else {
    LockRow head{.name = share_name(name, ""), .number = last.value_or(row.number)};
    co_await put(session, std::move(head));
  }
  if (found.downgrades && row.lease != 0) {
    LockRow owner = row;
    owner.name = share_name(name, row.attempt);
    owner.buried.reset();
    owner.waiters_until = minus_infinity;
    owner.owns = true;
    co_await put(session, std::move(owner));
  }
  LockRow its = share_of(request, number, t);
  watched(session, request, its);
  co_await put(session, its);
  co_await session.step();
  row.expires_at = std::max(found.held ? row.expires_at : minus_infinity, its.expires_at);
  row.number = number;
  row.attempt = permits_marker(request.permits);
  row.lease = 0;
  row.label = shared_label(request.take.label);
  session.write(*found.tuple, row);
  if (found.has_ticket) delete_ticket(session, name, request.take.attempt);
  session.commit_on_disk();
  co_return std::to_string(number);
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
  if (request.permits > 0) {
    ends = infinity;
    for (const LockRow* const each : session.shares(request.take.name)) {
      if (each->attempt.empty() || each->expires_at <= found.t) continue;
      ends = std::min(ends, each->expires_at);
    }
  }
  return std::string(How(request.take.how).waits ? "Q" : "B") + " " +
         std::to_string(found.row.number) + " " + std::to_string(ends - found.t) + " " +
         hex_of(found.row.label);
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

const LockRow* share(const Session& session, const std::string& name, const std::string& attempt) {
  return attempt.empty() ? nullptr : session.see(share_name(name, attempt));
}

std::int64_t live_shares(const Session& session, const std::string& name, Moment t) {
  const std::vector<const LockRow*> all = session.shares(name);
  return std::count_if(all.begin(), all.end(), [t](const LockRow* each) {
    return !each->attempt.empty() && each->expires_at > t;
  });
}

Moment last_end(const Session& session, const std::string& name, Moment t) {
  Moment last = minus_infinity;
  for (const LockRow* const each : session.shares(name)) {
    if (!each->attempt.empty() && each->expires_at > t) last = std::max(last, each->expires_at);
  }
  return last;
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
  }
  if (how.fair && row.waiters_until > t) co_await look_at_queue(session, request, found);
  std::string refused = find_room(session, request, found);
  if (!refused.empty()) co_return refused;
  if (found.admitted() && !found.guarded) {
    Task<std::string> joins = join(session, request, found);
    co_return co_await joins;
  }
  session.only_looks(shares);
  if (how.waits) co_await wait_to_share(session, request, found);
  if (found.admitted()) co_return "L";
  if (!found.held || (request.permits > 0 && found.room > 0)) co_return "A";
  co_return kept_out_words(session, request, found);
}

Task<std::string> renew_share(Session& session, const ShareRenewals& asked) {
  session.commit_on_disk();
  std::string answers(asked.names.size(), '0');
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < asked.names.size(); ++i) places.push_back(i);
  std::stable_sort(places.begin(), places.end(), [&](std::size_t one, std::size_t other) {
    return asked.names[one] < asked.names[other];
  });
  for (const std::size_t i : places) {
    const std::string& name = asked.names[i];
    const auto its = [&](Moment t) -> const LockRow* {
      const LockRow* const row = share(session, name, asked.attempts[i]);
      return row != nullptr && row->number == asked.numbers[i] && row->expires_at > t ? row
                                                                                      : nullptr;
    };
    LockTuple* const tuple = co_await session.lock_row(name, Strength::no_key_update, true);
    co_await session.step();
    const Moment t = session.clock();
    if (tuple == nullptr) {
      const LockRow* const row = session.see(name);
      if (its(t) != nullptr && row != nullptr && row->lease == 0 && row->expires_at > t) {
        answers[i] = '?';
      }
      continue;
    }
    LockRow row = session.row(*tuple);
    if (row.lease != 0 || row.expires_at <= t || its(t) == nullptr) continue;
    LockRow renewed = *its(t);
    renewed.lease = asked.leases[i];
    renewed.expires_at = t + asked.leases[i];
    session.write(*session.find(renewed.name), renewed);
    if (session.db.makes(Mistake::lapsed_reader_excludes)) {
      for (const LockRow* const each : session.shares(name)) {
        LockRow longer = *each;
        if (longer.attempt.empty()) continue;
        longer.expires_at = std::max(longer.expires_at, renewed.expires_at);
        session.write(*session.find(longer.name), std::move(longer));
      }
    }
    co_await session.step();
    row.expires_at = last_end(session, name, minus_infinity);
    session.write(*tuple, std::move(row));
    ++session.db.renewals;
    const LockRow* const head = session.see(share_name(name, ""));
    const std::vector<const TicketRow*> tickets = session.tickets(name);
    const bool wanted = (head != nullptr && head->expires_at > t) ||
                        std::any_of(tickets.begin(), tickets.end(), [t](const TicketRow* each) {
                          return each->contact >= t - ticket_lasts;
                        });
    answers[i] = wanted ? 'W' : '1';
  }
  co_return answers;
}

Task<Value> ask_share(Session& session, const ShareRequest& request) {
  const How how(request.take.how);
  const LockRow* const row = session.see(request.take.name);
  const Moment t = session.clock();
  const bool written =
      !how.waits || (!how.fair && row != nullptr && row->waiters_until > t + 5 * second);
  const bool kept_out = row != nullptr && row->expires_at > t && row->lease != 0;
  if (kept_out && request.beside.empty() && !how.strays && written) {
    co_return Value::binary(holder_bytes(*row, t));
  }
  std::string answer = co_await take_share(session, request);
  session.db.note_answer(answer);
  co_return Value::binary(std::move(answer));
}

}  // namespace simulation::postgres
