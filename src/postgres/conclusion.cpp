// SPDX-License-Identifier: MIT
// The outcome of a run inside a user's own transaction: conclude() and commit() of a run, of
// include/mortise/postgres.hpp.
#include <mortise/postgres.hpp>

#include "postgres/open_transaction.hpp"
#include "postgres/server_error.hpp"
#include "postgres/statements.hpp"

#include <utility>

namespace mortise::postgres {
namespace {

/// @return what is remembered where the result is committed.
std::shared_ptr<const Record> conclude_in(OpenTransaction& transaction, Run& run,
                                          std::string_view result) {
  const HoldId hold = run.hold();
  const std::shared_ptr<const Memory> memory = run.memory();
  const auto over = [&](const char* words) {
    throw Error({Errc::lost, one_line(run.key()) + words});
  };
  if (hold.number == 0 || !memory) over(": the run is not open");
  if (result.size() > longest_outcome) {
    throw Error({Errc::misconfigured, one_line(run.key()) + ": the result has " +
                                          std::to_string(result.size()) +
                                          " bytes; at most 65536 are allowed"});
  }
  auto written = std::make_shared<const Record>(Record{.state = KeyState::succeeded,
                                                       .bytes = std::string(result),
                                                       .run = run.number(),
                                                       .number = hold.number,
                                                       .fingerprint = memory->fingerprint});
  Arguments arguments;
  arguments.bytes(hold.name)
      .bytes(attempt_bytes(hold.attempt).view())
      .integer(static_cast<std::int64_t>(hold.number))
      .bytes(result)
      .integer(std::chrono::microseconds(memory->keep).count());
  const Result answer = transaction.call_for_hold("conclude_in($1, $2, $3, true, $4, $5)",
                                                  std::move(arguments), run.store());
  if (!answer.flag(0).value_or(false)) over(": the run is over; roll back");
  // What it had concluded before was rolled back for good, or this would have failed.
  run.note(written);
  return written;
}

OpenTransaction transaction_of(pg_conn* connection, const Run& run, std::string_view schema) {
  return {connection, schema, "key " + one_line(run.key())};
}

}  // namespace

void conclude(pg_conn* connection, Run& run, std::string_view result, std::string_view schema) {
  OpenTransaction transaction = transaction_of(connection, run, schema);
  static_cast<void>(conclude_in(transaction, run, result));
}

Outcome commit(pg_conn* connection, Run& run, std::string_view result, std::string_view schema) {
  OpenTransaction transaction = transaction_of(connection, run, schema);
  const std::shared_ptr<const Record> record = conclude_in(transaction, run, result);
  const Failure failure = transaction.commit();
  if (failure) {
    // Whatever became of it, this run must not record it once more.
    if (failure.code == Errc::in_doubt) run.give_back();
    throw Error(failure);
  }
  // Also where the lease has ended meanwhile, or nobody hears whether the key was freed.
  run.stands(record);
  return run.outcome();
}

}  // namespace mortise::postgres
