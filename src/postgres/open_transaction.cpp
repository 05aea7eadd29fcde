// SPDX-License-Identifier: MIT
#include "postgres/open_transaction.hpp"

#include "postgres/server_error.hpp"
#include "postgres/settings.hpp"

#include <optional>
#include <utility>

namespace mortise::postgres {

OpenTransaction::OpenTransaction(pg_conn* connection, std::string_view schema, std::string about)
    : connection_(connection), schema_(schema), about_("postgresql: " + std::move(about)) {
  check_identifier("the schema", schema_);
  const char* wrong = nullptr;
  switch (connection_.state()) {
    case UserConnection::State::in_transaction: return;
    case UserConnection::State::idle: wrong = "there is no open transaction"; break;
    case UserConnection::State::failed: wrong = "the transaction is aborted already"; break;
    case UserConnection::State::unusable:
      wrong = "the connection is gone, busy, or in pipeline mode";
      break;
  }
  throw LockError({Errc::misconfigured, std::string("postgresql: ") + wrong});
}

Result OpenTransaction::call(std::string_view function, const Arguments& arguments) {
  Result result = connection_.run("SELECT " + schema_ + "." + std::string(function), arguments);
  if (result.kind() == Result::Kind::rows) return result;
  throw LockError(server_error(about_, result.error()).failure);
}

Failure OpenTransaction::commit() {
  const std::optional<PqError> error = connection_.commit();
  if (!error) return {};
  if (!error->state.empty() && !error->state.starts_with("57P")) {
    return server_error(about_, *error).failure;
  }
  return {Errc::in_doubt, about_ + ": no answer to COMMIT: " + one_line(error->words)};
}

}  // namespace mortise::postgres
