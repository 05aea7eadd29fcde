// SPDX-License-Identifier: MIT
// look.sql, ask.sql, peek.sql and inspect.sql.
#include "simulation/postgres/functions.hpp"
#include "simulation/postgres/wire.hpp"

namespace simulation::postgres {
/// int8send(number) || timestamptz_send(expires_at) || timestamptz_send(clock) || label
std::string holder_bytes(const LockRow& row, Moment t) {
  std::string bytes;
  append_number(bytes, static_cast<std::uint64_t>(row.number), sizeof row.number);
  append_number(bytes, static_cast<std::uint64_t>(row.expires_at), sizeof row.expires_at);
  append_number(bytes, static_cast<std::uint64_t>(t), sizeof t);
  return bytes + row.label;
}

Task<Value> look(Session& session, const TakeRequest& request) {
  const LockRow* const row = session.see(request.name);
  const Moment t = session.clock();
  if (row != nullptr && row->expires_at > t) co_return Value::binary(holder_bytes(*row, t));
  std::string answer = co_await take(session, request);
  session.db.note_answer(answer);
  co_return Value::binary(std::move(answer));
}

Task<Value> ask(Session& session, const TakeRequest& request) {
  const How how(request.how);
  const LockRow* const row = session.see(request.name);
  const Moment t = session.clock();
  const bool written = !how.waits || (!how.fair && row != nullptr && row->lease > 0 &&
                                      row->waiters_until > t + 5 * second);
  if (row != nullptr && row->expires_at > t && row->attempt != request.attempt && !how.strays &&
      written) {
    co_return Value::binary(holder_bytes(*row, t));
  }
  constexpr std::int64_t own_session = 8;
  constexpr std::int64_t strays = 4;
  const bool plain = (request.how & (own_session | strays)) == own_session;
  Task<std::string> take_it = plain ? take(session, request) : take_row(session, request);
  std::string answer = co_await take_it;
  session.db.note_answer(answer);
  co_return Value::binary(std::move(answer));
}

Task<Rows> peek(Session& session, const TakeRequest& request) {
  const LockRow* const row = session.see(request.name);
  if (row == nullptr) {
    Rows none;
    none.columns = {Type::bytea};
    co_return none;
  }
  const Moment t = session.statement_began();
  if (row->expires_at > t) co_return Rows::one(Value::binary(holder_bytes(*row, t)));
  std::string answer = co_await take(session, request);
  session.db.note_answer(answer);
  co_return Rows::one(Value::binary(std::move(answer)));
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
