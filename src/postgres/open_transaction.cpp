// SPDX-License-Identifier: MIT
#include "postgres/open_transaction.hpp"

#include "postgres/home.hpp"
#include "postgres/server_error.hpp"
#include "postgres/settings.hpp"
#include "postgres/statements.hpp"

#include <optional>
#include <utility>

namespace mortise::postgres {

OpenTransaction::OpenTransaction(pg_conn* connection, std::string_view schema, std::string about)
    : connection_(connection), schema_(schema), about_("postgresql: " + std::move(about)) {
  check_identifier("the schema", schema_);
  const char* wrong = nullptr;
  switch (connection_.state()) {
    case UserConnection::State::in_transaction: return;
    case UserConnection::State::idle:
      wrong = "there is no open transaction; run BEGIN first";
      break;
    case UserConnection::State::failed:
      wrong = "the transaction has already failed; roll back";
      break;
    case UserConnection::State::unusable:
      wrong = "the connection is closed, busy, or in pipeline mode";
      break;
  }
  throw Error({Errc::misconfigured, std::string("postgresql: ") + wrong});
}

Result OpenTransaction::call(std::string_view function, const Arguments& arguments) {
  Result result = connection_.run("SELECT " + schema_ + "." + std::string(function), arguments);
  if (result.kind() == Result::Kind::rows) return result;
  throw Error(server_error(about_, result.error()).failure);
}

Result OpenTransaction::call_for_hold(std::string_view function, Arguments arguments,
                                      const StoreId& store) {
  // Only a hold of a client that this process has inherited has no words about its store.
  if (store.words.empty()) {
    throw Error({Errc::closed, about_ +
                                   ": this process was forked after the client was opened; open a "
                                   "new client here"});
  }
  const std::optional<Home> home = Home::of(store.identity);
  if (!is_postgresql(store.identity)) refuse_hold(store, "this connection leads to PostgreSQL");
  if (home && home->schema != schema_) {
    refuse_hold(store, "its schema is " + home->schema + ", but this call names " + schema_);
  }
  const Whereabouts place = home ? home->place : Whereabouts{};
  const std::string text = at_home(function, schema_, arguments.count() + 1);
  arguments.integer(place.cluster).integer(place.database);
  Result result = connection_.run(text, arguments);
  if (result.kind() != Result::Kind::rows) {
    const PqError error = result.error();
    // What the hold was taken by is not there.
    const bool elsewhere =
        error.state == "3F000" || error.state == "42883" || error.state == "42P01";
    if (elsewhere) refuse_hold(store, one_line(error.words));
    throw Error(server_error(about_, error).failure);
  }
  if (!result.text(0)) refuse_hold(store, "this connection leads to another database");
  return result;
}

void OpenTransaction::refuse_hold(const StoreId& store, const std::string& why) const {
  throw Error({Errc::misconfigured, about_ + ": the hold is in " + store.words + "; " + why});
}

Failure OpenTransaction::commit() {
  const std::optional<PqError> error = connection_.commit();
  if (!error) return {};
  // 40003 says itself that the outcome is unknown.
  const bool unknown = error->state.empty() || error->state.starts_with("57P") ||
                       error->state.starts_with("08") || error->state == "40003";
  if (!unknown) {
    return server_error(about_, *error).failure;
  }
  return {Errc::in_doubt, about_ + ": no reply to COMMIT: " + one_line(error->words)};
}

}  // namespace mortise::postgres
