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
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::postgres {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds first_wait{5};
constexpr std::chrono::milliseconds longest_wait{100};

std::vector<GuardedHold> holds_of(const Guard& guard) {
  if (!guard) return {};
  return {{.name = guard.name(), .token = guard.token(), .store = guard.store()}};
}

/// @return what messages about all of them speak of: "lock a and 2 more"
std::string words_of(const std::vector<GuardedHold>& holds) {
  if (holds.empty()) return "no lock";
  const std::string first = "lock " + one_line(holds.front().name);
  return holds.size() == 1 ? first : first + " and " + std::to_string(holds.size() - 1) + " more";
}

void tie(pg_conn* connection, const GuardedHold& hold, std::string_view schema) {
  OpenTransaction transaction(connection, schema, "lock " + one_line(hold.name));
  Arguments arguments;
  arguments.bytes(hold.name).integer(
      static_cast<std::int64_t>(hold.token.value() / core::tokens_in_a_grant));
  const Result result =
      transaction.call_for_hold("guard($1, $2)", std::move(arguments), hold.store);
  if (result.flag(0).value_or(false)) return;
  throw Error({Errc::lost, one_line(hold.name) + ": the hold is over; roll back"});
}

/// @param stand whether the guard, or the guards, of the holds hold
/// @return the transaction, in which all of them stand
OpenTransaction tied(pg_conn* connection, const std::vector<GuardedHold>& holds, bool stand,
                     std::string_view schema) {
  OpenTransaction transaction(connection, schema, words_of(holds));
  if (!stand) throw Error({Errc::lost, "postgresql: the guard holds nothing"});
  for (const GuardedHold& hold : holds) tie(connection, hold, schema);
  return transaction;
}

OpenTransaction tied(pg_conn* connection, const Guard& guard, std::string_view schema) {
  return tied(connection, holds_of(guard), static_cast<bool>(guard), schema);
}

OpenTransaction tied(pg_conn* connection, const Guards& guards, std::string_view schema) {
  return tied(connection, guards.holds(), static_cast<bool>(guards), schema);
}

void commit(OpenTransaction transaction) {
  const Failure failure = transaction.commit();
  if (failure) throw Error(failure);
}

}  // namespace

void guard(pg_conn* connection, const Guard& guard, std::string_view schema) {
  static_cast<void>(tied(connection, guard, schema));
}

void guard(pg_conn* connection, const Guards& guards, std::string_view schema) {
  static_cast<void>(tied(connection, guards, schema));
}

void commit(pg_conn* connection, const Guard& guard, std::string_view schema) {
  commit(tied(connection, guard, schema));
}

void commit(pg_conn* connection, const Guards& guards, std::string_view schema) {
  commit(tied(connection, guards, schema));
}

bool lock_in(pg_conn* connection, std::string_view name, std::chrono::milliseconds wait,
             std::string_view schema) {
  OpenTransaction transaction(connection, schema, "lock " + one_line(name));
  if (name.empty() || name.size() > core::longest_name) {
    throw Error({Errc::misconfigured, "postgresql: a lock name must have 1 to 512 bytes"});
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
      throw Error({Errc::protocol, "postgresql: the server sent an invalid reply"});
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
