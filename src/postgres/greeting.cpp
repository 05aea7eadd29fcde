// SPDX-License-Identifier: MIT
#include "postgres/greeting.hpp"

#include <utility>

namespace mortise::postgres {

bool Greeting::begin(Pq& pq, Instant now) {
  begun_ = now;
  result_.reset();
  error_.reset();
  is_prepared_ = is_over_ = false;
  return pq.run(statements_.greet()) && pq.sync();
}

Greeting::Step Greeting::receive(Pq& pq, const std::string& where) {
  error_.reset();
  if (!pq.flush() || !pq.receive()) return Step::refused;
  while (std::optional<Result> result = pq.next()) {
    if (result->kind() == Result::Kind::synced) return answered(pq, where);
    const bool error = result->kind() == Result::Kind::error;
    if (!result_ || (error && result_->kind() != Result::Kind::error)) result_ = std::move(result);
  }
  return Step::goes_on;
}

Greeting::Step Greeting::refuse(ServerError::Kind kind, Errc code, std::string words) {
  error_ = {.kind = kind, .failure = {code, std::move(words)}};
  return Step::refused;
}

Greeting::Step Greeting::answered(Pq& pq, const std::string& where) {
  const std::optional<Result> result = std::exchange(result_, std::nullopt);
  if (!result) {
    return refuse(ServerError::Kind::elsewhere, Errc::protocol,
                  where + ": the reply is not from a PostgreSQL server; check host and port");
  }
  if (result->kind() != Result::Kind::rows) {
    error_ = server_error(where, result->error());
    return Step::refused;
  }
  is_over_ = is_prepared_;
  if (is_over_) return Step::goes_on;
  const std::optional<ServerFacts> facts = ServerFacts::read(*result);
  if (!facts) {
    return refuse(ServerError::Kind::final, Errc::misconfigured,
                  where + ": the schema does not report its version; run 'mortise migrate'");
  }
  facts_ = *facts;
  is_pooled_ = settings_.pooled.value_or(facts_.backend_pid != pq.backend_pid());
  if (judge(where) == Step::refused) return Step::refused;
  // A pooler's session may be another client's in a moment.
  is_over_ = is_pooled_;
  return is_over_ || prepare(pq) ? Step::met : Step::refused;
}

/// @return whether a client may use that server.
Greeting::Step Greeting::judge(const std::string& where) {
  const auto never = [&](const char* words) {
    return refuse(ServerError::Kind::final, Errc::misconfigured, where + ": " + words);
  };
  const auto not_here = [&](const char* words) {
    return refuse(ServerError::Kind::elsewhere, Errc::unavailable, where + ": " + words);
  };
  if (facts_.version < schema_version) {
    return never("the schema is older than this library; run 'mortise migrate'");
  }
  if (facts_.version > schema_version) {
    return never("the schema is newer than this library; use a newer library");
  }
  if (facts_.standby) return not_here("this server is a standby, which cannot grant locks");
  if (lineage_.outdated(facts_.whereabouts)) {
    return not_here("this server has an older timeline: another server was promoted");
  }
  if (facts_.read_only) {
    return not_here("this server is read-only: default_transaction_read_only is on");
  }
  if (!facts_.logged) {
    return never("a table of locks or keys is unlogged, so a crash would empty it; set it LOGGED");
  }
  if (!facts_.indexes) {
    return never("the table of locks lacks its unique indexes; create them again");
  }
  if (is_pooled_ && !facts_.read_committed) {
    return never(
        "a pooler is in between; set the role's default_transaction_isolation to 'read committed'");
  }
  return Step::met;
}

bool Greeting::prepare(Pq& pq) {
  is_prepared_ = true;
  bool good = pq.run(statements_.session());
  if (listens()) return good && pq.run(listen_) && pq.sync();
  for (const Statement& statement : statements_.all()) {
    if (statement.name.empty() || statement.later) continue;
    good = good && pq.prepare(statement.name.c_str(), statement.text, statement.like);
  }
  return good && pq.sync();
}

}  // namespace mortise::postgres
