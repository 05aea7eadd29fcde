// SPDX-License-Identifier: MIT
// The two servers of both.hpp. The real one runs the shipped SQL, in which only the clock is
// another: it is a setting of the session.
#include "simulation/postgres/both.hpp"

#include <mortise/postgres.hpp>

#include "postgres/sql.hpp"
#include "postgres/statements.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace simulation::postgres {
namespace {

using mortise::test::PostgresRow;
using mortise::test::PostgresTalkError;

std::string with_clock(std::string text, const std::string& schema) {
  const std::string ours = schema + ".test_clock()";
  for (const std::string name : {"pg_catalog.clock_timestamp()", "pg_catalog.statement_timestamp()",
                                 "pg_catalog.transaction_timestamp()", "clock_timestamp()"}) {
    for (std::size_t at = text.find(name); at != std::string::npos;
         at = text.find(name, at + ours.size())) {
      // Not the end of our own name, nor of a whole one that was replaced already.
      text.replace(at, name.size(), ours);
    }
  }
  return text;
}

/// The clock that comes first in an answer, as a number.
std::string with_number(std::string text) {
  for (const std::string_view clock :
       {"SELECT pg_catalog.statement_timestamp()", "SELECT pg_catalog.transaction_timestamp()"}) {
    if (!text.starts_with(clock)) continue;
    return "SELECT pg_catalog.current_setting('mortise_test.clock')::pg_catalog.int8" +
           text.substr(clock.size());
  }
  return text;
}

std::string words_of(const Answers& answers) {
  std::ostringstream out;
  for (const auto& row : answers) {
    out << "(";
    for (const std::string& value : row) out << value << ",";
    out << ")";
  }
  return out.str();
}

std::string difference(const std::string& what, const Answers& model, const Answers& real) {
  if (model == real) return {};
  return what + "\n  model: " + words_of(model) + "\n  real:  " + words_of(real);
}

std::string micros(const std::string& column) {
  return "CASE WHEN " + column + " = '-infinity' THEN '-infinity' ELSE ((extract(epoch FROM " +
         column + ") - 946684800) * 1000000)::bigint::text END";
}

std::string table_of(std::string_view name) {
  if (is_gate(name)) return "gate";
  return is_run(name) ? "run" : "lock";
}

std::string text_of(Moment moment) {
  return moment == minus_infinity ? "-infinity" : std::to_string(moment);
}

/// A row has changed since a REPEATABLE READ transaction began, and whoever locked it before that,
/// for KEY SHARE, has not ended: the server looks at the two together (a multixact, heapam's
/// HeapTupleSatisfiesUpdate), and waits for the second one until its lock_timeout. The model does
/// not know which version of a row was locked, and refuses at once. The transaction has failed
/// either way.
bool waits_for_an_old_lock(const Answers& model, const Answers& real) {
  return model == Answers{{"error 40001"}} && real == Answers{{"error 55P03"}};
}

}  // namespace

Both::Both(mortise::test::PostgresServer& server, const std::string& schema, std::size_t sessions,
           std::uint64_t seed)
    : schema_(schema),
      site_(seed),
      model_(site_, Options{.schema = schema, .flush = Nanos(1), .pause_every = 0}),
      owner_(server.talk()) {
  // begin.sql makes the schema, or schema.sql does: the clock's function is there before.
  owner_.run("CREATE SCHEMA " + schema);
  owner_.run("CREATE FUNCTION " + schema +
             ".test_clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT "
             "'2000-01-01 00:00:00+00'::pg_catalog.timestamptz OPERATOR(pg_catalog.+) "
             "(pg_catalog.current_setting('mortise_test.clock')::pg_catalog.int8 "
             "OPERATOR(pg_catalog.*) interval '1 microsecond') $$");
  owner_.run(with_clock(mortise::postgres::migration({.schema = schema}), schema));
  for (std::size_t i = 0; i < sessions; ++i) {
    real_.push_back(std::make_unique<mortise::test::PostgresTalk>(server.talk()));
    talks_.push_back(std::make_unique<DirectTalk>(site_, model_, i + 1));
    real_.back()->run("SET lock_timeout = '1ms'");
    talks_.back()->ask("SET lock_timeout = '1ms'");
  }
}

void Both::set_clock(Moment moment) {
  clock_ = moment;
  site_.clock = std::chrono::microseconds(moment + epoch_offset);
}

std::string Both::ask(std::size_t session, const Question& question) {
  last_ = talks_[session]->ask(question.model, question.model_arguments);
  Answers real;
  try {
    // In a transaction that has failed this fails, too, as the statement does.
    static_cast<void>(
        real_[session]->refusal("SET mortise_test.clock = '" + std::to_string(clock_) + "'"));
    real = real_[session]->rows(with_clock(with_number(question.real), schema_),
                                question.real_arguments);
  } catch (const PostgresTalkError& error) {
    real = {{"error " + error.state()}};
  }
  if (waits_for_an_old_lock(last_, real)) return {};
  return difference(question.words, last_, real);
}

std::string Both::compare_rows(const std::string& table) {
  Answers model;
  for (const auto& [name, row] : model_.rows()) {
    if (table_of(name) != table) continue;
    model.push_back({hex_of(outer_name(name)), std::to_string(row.number), hex_of(row.attempt),
                     std::to_string(row.lease), text_of(row.expires_at), hex_of(row.label),
                     text_of(row.waiters_until)});
  }
  const Answers real =
      owner_.rows("SELECT encode(name, 'hex'), number, encode(attempt, 'hex'), lease, " +
                  micros("expires_at") + ", encode(label, 'hex'), " + micros("waiters_until") +
                  " FROM " + schema_ + "." + table + " ORDER BY name");
  return difference("rows of " + table, model, real);
}

std::string Both::compare_tickets(const std::string& table) {
  Answers model;
  for (const TicketRow& row : model_.tickets()) {
    if (table_of(row.name) != table) continue;
    model.push_back({hex_of(outer_name(row.name)), hex_of(row.attempt), text_of(row.contact),
                     row.reads ? "t" : "f"});
  }
  const Answers real =
      owner_.rows("SELECT encode(name, 'hex'), encode(attempt, 'hex'), " + micros("contact") +
                  (table == "run" ? ", 'f'" : ", reads") + " FROM " + schema_ + "." +
                  (table == "lock" ? "" : table + "_") + "ticket ORDER BY name, ticket");
  return difference("tickets of " + table, model, real);
}

std::string Both::compare_shares(bool permits) {
  Answers model;
  for (const auto& [name, row] : model_.shares()) {
    std::string_view rest(name);
    rest.remove_prefix(before_a_share.size());
    if (is_gate(rest) != permits) continue;
    rest.remove_suffix(row.attempt.size() + 1);
    model.push_back({hex_of(outer_name(rest)), hex_of(row.attempt), std::to_string(row.number),
                     std::to_string(row.lease), text_of(row.expires_at), hex_of(row.label),
                     row.owns ? "t" : "f"});
  }
  std::sort(model.begin(), model.end());
  Answers real = owner_.rows("SELECT encode(name, 'hex'), encode(attempt, 'hex'), number, lease, " +
                             micros("expires_at") + ", encode(label, 'hex'), owns FROM " + schema_ +
                             (permits ? ".gate_share" : ".share"));
  std::sort(real.begin(), real.end());
  return difference(permits ? "permits" : "shares", model, real);
}

std::string Both::compare_keys() {
  Answers model;
  for (const auto& [key, row] : model_.keys()) {
    model.push_back({hex_of(key), std::string(1, row.state), std::to_string(row.run),
                     std::to_string(row.number), text_of(row.kept_until), hex_of(row.fingerprint),
                     hex_of(row.bytes),
                     row.stood.state == 0 ? "" : std::string(1, row.stood.state)});
  }
  const Answers real = owner_.rows(
      "SELECT encode(key, 'hex'), state, run, number, " + micros("kept_until") +
      ", encode(fingerprint, 'hex'), encode(bytes, 'hex'), coalesce(stood_state::text, '') FROM " +
      schema_ + ".once ORDER BY key");
  std::string found = difference("keys", model, real);
  if (!found.empty()) return found;
  return difference("the largest number of a removed key",
                    {{std::to_string(model_.floor_of_keys())}},
                    owner_.rows("SELECT max(number) FROM " + schema_ + ".run_floor"));
}

std::string Both::compare_notifications() {
  Answers model;
  Answers real;
  for (std::string& each : talks_.back()->notifications()) model.push_back({std::move(each)});
  constexpr std::chrono::seconds patience{10};
  while (real.size() < model.size()) {
    const auto next = real_.back()->notification(patience);
    if (!next) break;
    real.push_back({*next});
  }
  while (const auto more = real_.back()->notification(std::chrono::milliseconds(0))) {
    real.push_back({*more});
  }
  return difference("notifications", model, real);
}

std::string Both::compare() {
  std::string found;
  for (const char* const table : {"lock", "run", "gate"}) {
    if (found.empty()) found = compare_rows(table);
    if (found.empty()) found = compare_tickets(table);
  }
  for (const bool permits : {false, true}) {
    if (found.empty()) found = compare_shares(permits);
  }
  if (found.empty()) found = compare_keys();
  if (found.empty()) found = compare_notifications();
  return found;
}

}  // namespace simulation::postgres
