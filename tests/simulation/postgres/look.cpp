// SPDX-License-Identifier: MIT
// look.sql and inspect.sql.
#include "simulation/postgres/functions.hpp"
#include "simulation/postgres/wire.hpp"

namespace simulation::postgres {
namespace {

/// int8send(number) || timestamptz_send(expires_at) || label
std::string holder_bytes(const LockRow& row) {
  std::string bytes;
  append_number(bytes, static_cast<std::uint64_t>(row.number), sizeof row.number);
  append_number(bytes, static_cast<std::uint64_t>(row.expires_at), sizeof row.expires_at);
  return bytes + row.label;
}

}  // namespace

Task<Value> look(Session& session, const TakeRequest& request) {
  const LockRow* const row = session.see(request.name);
  const Moment t = session.statement_began();
  const bool others =
      row != nullptr && row->expires_at > t &&
      (row->attempt != request.attempt || session.db.makes(Mistake::own_hold_is_busy));
  const bool keeps_out =
      others && (!request.shares() || (row->lease > 0 && request.beside.empty()));
  if (keeps_out) co_return Value::binary(holder_bytes(*row));
  std::string answer = co_await take(session, request);
  co_return Value::binary(std::move(answer));
}

Rows inspect(Session& session, const std::string& name) {
  Rows rows;
  rows.columns = {Type::int8, Type::moment, Type::bytea, Type::moment, Type::int8};
  const LockRow* const row = session.see(name);
  if (row == nullptr) return rows;
  const Moment t = session.clock();
  std::int64_t waiters = 0;
  for (const TicketRow* const each : session.tickets(name)) {
    waiters += each->contact > t - ticket_lasts ? 1 : 0;
  }
  rows.rows.push_back({Value::of(Type::int8, row->number), Value::of(Type::moment, row->expires_at),
                       Value::binary(row->label), Value::of(Type::moment, t),
                       Value::of(Type::int8, waiters)});
  return rows;
}

}  // namespace simulation::postgres
