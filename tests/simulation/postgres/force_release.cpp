// SPDX-License-Identifier: MIT
// force_release.sql, and expel.sql.
#include "simulation/postgres/functions.hpp"

#include <utility>

namespace simulation::postgres {
namespace {

/// @return whether it ends that one
bool meant(const LockRow& share, std::optional<std::int64_t> of_number, Moment t) {
  if (share.attempt.empty() || share.expires_at <= t) return false;
  return !of_number || share.number == *of_number;
}

Task<void> expel(Session& session, const std::string& name, std::optional<std::int64_t> of_number,
                 Rows& rows) {
  LockTuple* const tuple = co_await session.lock_row(name, Strength::no_key_update, true);
  co_await session.step();
  if (tuple == nullptr) {
    if (session.see(name) != nullptr) {
      throw SqlError("55P03", "another transaction has the row of the lock");
    }
    co_return;
  }
  const Moment t = session.clock();
  LockRow row = session.row(*tuple);
  const bool shared = row.lease == 0;
  if (row.expires_at <= t) co_return;
  if (of_number && !shared && row.number != *of_number) co_return;
  std::vector<Value> values{Value::of(Type::int8, row.number),
                            Value::of(Type::moment, row.expires_at), Value::binary(row.label),
                            Value::of(Type::moment, t)};
  const bool tells = !of_number && row.waiters_until > t;
  if (shared) {
    bool any = false;
    for (const LockRow* const each : session.shares(name)) {
      if (!meant(*each, of_number, t)) continue;
      LockRow ended = *each;
      ended.expires_at = t;
      rewrite_share(session, std::move(ended));
      any = true;
    }
    if (!any) co_return;
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
}

}  // namespace

Task<Rows> force_release(Session& session, const std::string& name,
                         std::optional<std::int64_t> of_number,
                         std::optional<std::int64_t> of_permit,
                         std::optional<std::int64_t> of_run) {
  if (session.db.options.applications.contains(session.user())) {
    throw SqlError("42501", "permission denied for function force_release");
  }
  Rows rows;
  rows.columns = {Type::int8, Type::moment, Type::bytea, Type::moment, Type::int8};
  session.commit_on_disk();
  if (of_number != 0) {
    Task<void> of_lock = expel(session, name, of_number, rows);
    co_await of_lock;
  }
  if (of_permit ? *of_permit != 0 : !of_number) {
    Task<void> of_semaphore = expel(session, gate_name(name), of_permit, rows);
    co_await of_semaphore;
  }
  if (of_run && *of_run != 0) {
    Task<void> of_key = expel(session, run_name(name), of_run, rows);
    co_await of_key;
  }
  co_return rows;
}

}  // namespace simulation::postgres
