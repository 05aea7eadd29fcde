// SPDX-License-Identifier: MIT
// Locks inside users' own transactions: guard(), lock_in() and fenced() of
// include/mortise/postgres.hpp.
#include <mortise/postgres.hpp>

#include "base/span.hpp"
#include "core/figures.hpp"
#include "postgres/pq.hpp"
#include "postgres/server_error.hpp"
#include "postgres/settings.hpp"

#include <algorithm>
#include <limits>
#include <thread>

namespace mortise::postgres {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds first_wait{5};
constexpr std::chrono::milliseconds longest_wait{100};

void check(const UserConnection& connection, std::string_view schema) {
  check_identifier("the schema", std::string(schema));
  const auto refuse = [](const char* words) {
    throw LockError({Errc::misconfigured, std::string("postgresql: ") + words});
  };
  switch (connection.state()) {
    case UserConnection::State::in_transaction: return;
    case UserConnection::State::idle: return refuse("there is no open transaction");
    case UserConnection::State::failed: return refuse("the transaction is aborted already");
    case UserConnection::State::unusable:
      return refuse("the connection is gone, busy, or in pipeline mode");
  }
}

Result run(UserConnection& connection, const std::string& text, const Arguments& arguments,
           const std::string& name) {
  Result result = connection.run(text, arguments);
  if (result.kind() == Result::Kind::rows) return result;
  throw LockError(server_error("postgresql: lock " + one_line(name), result.error()).failure);
}

}  // namespace

void guard(pg_conn* connection, const Guard& guard, std::string_view schema) {
  UserConnection user(connection);
  check(user, schema);
  if (!guard) throw LockError({Errc::lost, "postgresql: the guard holds nothing"});
  const std::string name = guard.name();
  Arguments arguments;
  arguments.bytes(name).integer(
      static_cast<std::int64_t>(guard.token().value() / core::tokens_in_a_grant));
  const Result result =
      run(user, "SELECT " + std::string(schema) + ".guard($1, $2)", arguments, name);
  if (result.flag(0).value_or(false)) return;
  throw LockError({Errc::lost, one_line(name) + ": the hold is over: roll back"});
}

void commit(pg_conn* connection, const Guard& hold, std::string_view schema) {
  guard(connection, hold, schema);
  const std::string about = "postgresql: lock " + one_line(hold.name());
  const std::optional<PqError> error = UserConnection(connection).commit();
  if (!error) return;
  if (!error->state.empty() && !error->state.starts_with("57P")) {
    throw LockError(server_error(about, *error).failure);
  }
  throw LockError({Errc::in_doubt, about + ": no answer to COMMIT: " + one_line(error->words)});
}

bool lock_in(pg_conn* connection, std::string_view name, std::chrono::milliseconds wait,
             std::string_view schema) {
  UserConnection user(connection);
  check(user, schema);
  if (name.empty() || name.size() > core::longest_name) {
    throw LockError({Errc::misconfigured, "postgresql: a lock's name has 1 to 512 bytes"});
  }
  const Steady::time_point end = Steady::now() + base::bounded_wait(wait);
  auto pause = first_wait;
  for (;;) {
    const auto left = std::clamp<std::int64_t>(
        std::chrono::ceil<std::chrono::milliseconds>(end - Steady::now()).count(), 0,
        std::numeric_limits<std::int32_t>::max());
    Arguments arguments;
    arguments.bytes(name).integer(left);
    const Result result = run(user, "SELECT " + std::string(schema) + ".lock_in($1, $2::integer)",
                              arguments, std::string(name));
    const std::string_view answer = result.text(0).value_or("");
    if (answer == "T") return true;
    if (answer != "H" && answer != "B") {
      throw LockError({Errc::protocol, "postgresql: an answer that makes no sense"});
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
