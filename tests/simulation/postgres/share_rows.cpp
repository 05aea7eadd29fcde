// SPDX-License-Identifier: MIT
// The rows of those who share a name, and renew_share() of share.sql.
#include "simulation/postgres/functions.hpp"

#include <algorithm>
#include <utility>

namespace simulation::postgres {
namespace {

bool somebody_asks(const Session& session, const std::string& name, Moment t) {
  const std::vector<const TicketRow*> tickets = session.tickets(name);
  return std::any_of(tickets.begin(), tickets.end(),
                     [t](const TicketRow* each) { return each->contact >= t - ticket_lasts; });
}

}  // namespace

Task<void> put_share(Session& session, LockRow row) {
  const LockTuple* const inserted = co_await session.insert(std::move(row));
  if (inserted == nullptr) throw SqlError("23505", "duplicate key value of a share");
}

void remove_shares(Session& session, const std::string& name,
                   const std::function<bool(const LockRow&)>& goes) {
  for (const LockRow* const each : session.shares(name)) {
    if (goes(*each)) session.remove(*session.find(each->name));
  }
}

const LockRow* share(const Session& session, const std::string& name, const std::string& attempt) {
  return attempt.empty() ? nullptr : session.see(share_name(name, attempt));
}

std::int64_t live_shares(const Session& session, const std::string& name, Moment t) {
  const std::vector<const LockRow*> all = session.shares(name);
  return std::count_if(all.begin(), all.end(), [&](const LockRow* each) {
    const bool dead = each->expires_at <= t;
    return !each->attempt.empty() &&
           (!dead || session.db.makes(Mistake::permit_lost_with_its_client));
  });
}

Moment last_end(const Session& session, const std::string& name, Moment t) {
  Moment last = minus_infinity;
  for (const LockRow* const each : session.shares(name)) {
    if (!each->attempt.empty() && each->expires_at > t) last = std::max(last, each->expires_at);
  }
  return last;
}

Task<void> spread(Session& session, LockTuple& tuple) {
  LockRow row = session.row(tuple);
  remove_shares(session, row.name, [](const LockRow&) { return true; });
  co_await session.step();
  LockRow its{.name = share_name(row.name, row.attempt),
              .number = row.number,
              .attempt = row.attempt,
              .lease = -row.lease,
              .expires_at = row.expires_at,
              .label = label_in(row)};
  co_await put_share(session, std::move(its));
  LockRow head{.name = share_name(row.name, ""), .number = row.number - 1};
  co_await put_share(session, std::move(head));
  co_await session.step();
  row.attempt.clear();
  row.lease = 0;
  session.write(tuple, std::move(row));
}

Task<std::string> renew_share(Session& session, const ShareRenewals& asked) {
  promise_renewal(session);
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
    const auto is_its = [&](const LockRow& row) {
      return row.attempt == asked.attempts[i] && row.number == asked.numbers[i];
    };
    LockTuple* const tuple = co_await session.lock_row(name, Strength::no_key_update, true);
    co_await session.step();
    const Moment t = session.clock();
    if (tuple == nullptr) {
      const LockRow* const row = session.see(name);
      const bool lives = row != nullptr && row->expires_at > t;
      if (lives && (is_its(*row) || (row->lease == 0 && its(t) != nullptr))) answers[i] = '?';
      continue;
    }
    LockRow row = session.row(*tuple);
    if (row.lease < 0 && row.expires_at > t && is_its(row)) {
      row.lease = -asked.leases[i];
      row.expires_at = t + asked.leases[i];
      session.write(*tuple, std::move(row));
      ++session.db.renewals;
      answers[i] = somebody_asks(session, name, t) ? 'W' : '1';
      continue;
    }
    if (row.lease != 0 || row.expires_at <= t || its(t) == nullptr) continue;
    LockRow renewed = *its(t);
    renewed.lease = asked.leases[i];
    renewed.expires_at = t + asked.leases[i];
    rewrite_share(session, renewed);
    if (session.db.makes(Mistake::lapsed_reader_excludes)) {
      for (const LockRow* const each : session.shares(name)) {
        LockRow longer = *each;
        if (longer.attempt.empty()) continue;
        longer.expires_at = std::max(longer.expires_at, renewed.expires_at);
        rewrite_share(session, std::move(longer));
      }
    }
    co_await session.step();
    row.expires_at = last_end(session, name, minus_infinity);
    session.write(*tuple, std::move(row));
    ++session.db.renewals;
    const LockRow* const head = session.see(share_name(name, ""));
    const bool wanted =
        (head != nullptr && head->expires_at > t) || somebody_asks(session, name, t);
    answers[i] = wanted ? 'W' : '1';
  }
  co_return answers;
}

}  // namespace simulation::postgres
