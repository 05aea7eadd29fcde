// SPDX-License-Identifier: MIT
// force_release.sql.
#include "simulation/postgres/functions.hpp"

#include <algorithm>

namespace simulation::postgres {

Task<Rows> force_release(Session& session, const std::string& name,
                         std::optional<std::int64_t> of_number) {
  if (session.db.options.applications.contains(session.user())) {
    throw SqlError("42501", "permission denied for function force_release");
  }
  Rows rows;
  rows.columns = {Type::int8, Type::moment, Type::bytea, Type::moment, Type::int8};
  LockTuple* const tuple = co_await session.lock_row(name, Strength::no_key_update, true);
  co_await session.step();
  if (tuple == nullptr) {
    if (session.see(name) != nullptr) {
      throw SqlError("55P03", "another transaction has the row of the lock");
    }
    co_return rows;
  }
  const Moment t = session.clock();
  LockRow row = session.row(*tuple);
  const bool shared = row.lease == 0;
  if (row.expires_at <= t || (of_number && !shared && row.number != *of_number)) co_return rows;
  const std::int64_t last = std::min(of_number.value_or(row.number), row.number);
  const auto ends = [&](const LockRow* each) {
    return !each->attempt.empty() && each->number <= of_number.value_or(row.number);
  };
  const std::vector<const LockRow*> shares = session.shares(name);
  if (shared && std::none_of(shares.begin(), shares.end(), ends)) co_return rows;
  session.commit_on_disk();
  std::vector<Value> values{Value::of(Type::int8, row.number),
                            Value::of(Type::moment, row.expires_at), Value::binary(row.label),
                            Value::of(Type::moment, t)};
  const bool tells = !of_number && row.waiters_until > t;
  if (shared) {
    if (const LockRow* const there = session.see(share_name(name, ""))) {
      LockRow head = *there;
      head.number = std::max(head.number, last);
      session.write(*session.find(head.name), std::move(head));
    }
    for (const LockRow* const each : session.shares(name)) {
      if (ends(each)) session.remove(*session.find(each->name));
    }
  }
  row.expires_at = shared ? last_end(session, name, t) : minus_infinity;
  session.write(*tuple, std::move(row));
  co_await session.step();
  if (tells) co_await tell(session, name, t);
  std::int64_t waiters = 0;
  for (const TicketRow* const each : session.tickets(name)) {
    waiters += each->contact > t - ticket_lasts ? 1 : 0;
  }
  values.push_back(Value::of(Type::int8, waiters));
  rows.rows.push_back(std::move(values));
  co_return rows;
}

}  // namespace simulation::postgres
