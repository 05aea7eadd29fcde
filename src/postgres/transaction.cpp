// SPDX-License-Identifier: MIT
// Locks inside users' own transactions: guard(), lock_in() and fenced() of
// include/mortise/postgres.hpp.
#include <mortise/postgres.hpp>

#include "base/span.hpp"
#include "core/figures.hpp"
#include "postgres/open_transaction.hpp"
#include "postgres/server_error.hpp"

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

namespace mortise::postgres {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds first_wait{5};
constexpr std::chrono::milliseconds longest_wait{100};

OpenTransaction transaction_of(pg_conn* connection, const Guard& guard, std::string_view schema) {
  return {connection, schema, "lock " + one_line(guard.name())};
}

void look_again(OpenTransaction& transaction, const Guard& guard) {
  if (!guard) throw Error({Errc::lost, "postgresql: the guard holds nothing"});
  const std::string name = guard.name();
  Arguments arguments;
  arguments.bytes(name).integer(
      static_cast<std::int64_t>(guard.token().value() / core::tokens_in_a_grant));
  const Result result =
      transaction.call_for_hold("guard($1, $2)", std::move(arguments), guard.store());
  if (result.flag(0).value_or(false)) return;
  throw Error({Errc::lost, one_line(name) + ": the hold is over: roll back"});
}

}  // namespace

void guard(pg_conn* connection, const Guard& guard, std::string_view schema) {
  OpenTransaction transaction = transaction_of(connection, guard, schema);
  look_again(transaction, guard);
}

void commit(pg_conn* connection, const Guard& guard, std::string_view schema) {
  OpenTransaction transaction = transaction_of(connection, guard, schema);
  look_again(transaction, guard);
  const Failure failure = transaction.commit();
  if (failure) throw Error(failure);
}

bool lock_in(pg_conn* connection, std::string_view name, std::chrono::milliseconds wait,
             std::string_view schema) {
  OpenTransaction transaction(connection, schema, "lock " + one_line(name));
  if (name.empty() || name.size() > core::longest_name) {
    throw Error({Errc::misconfigured, "postgresql: a lock's name has 1 to 512 bytes"});
  }
  const Steady::time_point end = Steady::now() + base::bounded_wait(wait);
  auto pause = first_wait;
  for (;;) {
    const auto left = std::clamp<std::int64_t>(
        std::chrono::ceil<std::chrono::milliseconds>(end - Steady::now()).count(), 0,
        std::numeric_limits<std::int32_t>::max());
    Arguments arguments;
    arguments.bytes(name).integer(left);
    const Result result = transaction.call("lock_in($1, $2::integer)", arguments);
    const std::string_view answer = result.text(0).value_or("");
    if (answer == "T") return true;
    if (answer != "H" && answer != "B") {
      throw Error({Errc::protocol, "postgresql: an answer that makes no sense"});
    }
    if (Steady::now() >= end) return false;
    // A lease ends without a word to this connection.
    if (answer == "H") {
      std::this_thread::sleep_for(std::min<Steady::duration>(pause, end - Steady::now()));
      pause = std::min(pause * 2, longest_wait);
    }
  }
}

std::string fenced(const Guard& guard, std::string_view column) {
  return std::string(column) + " <= " + std::to_string(guard.token().value());
}

}  // namespace mortise::postgres
