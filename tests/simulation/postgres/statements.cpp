// SPDX-License-Identifier: MIT
#include "simulation/postgres/statements.hpp"

#include "postgres/sql.hpp"
#include "postgres/statements.hpp"

#include <algorithm>
#include <cctype>

namespace simulation::postgres {
namespace {

namespace sql = mortise::postgres::sql;

std::string_view trimmed(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == ';'; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

/// In capitals but for what is in quotes, divided at spaces, commas and equal signs.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool quoted = false;
  bool open = false;
  for (const char c : text) {
    if (c == '\'' || c == '"') {
      quoted = !quoted;
      if (quoted && !open) words.emplace_back();
      open = true;
      continue;
    }
    if (!quoted && (c == ' ' || c == '\n' || c == ',' || c == '=')) {
      open = false;
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    words.back() += c;
  }
  return words;
}

std::string capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

Statement command_of(const std::vector<std::string>& words) {
  const auto is = [&](std::size_t place, std::string_view word) {
    return words.size() > place && capitals(words[place]) == word;
  };
  if (words.empty()) return Statement::nothing;
  if (is(0, "BEGIN") || (is(0, "START") && is(1, "TRANSACTION"))) return Statement::begin;
  if (is(0, "COMMIT") || is(0, "END")) return Statement::commit;
  if (is(0, "ROLLBACK") && (is(1, "TO") || is(2, "TO"))) return Statement::rollback_to;
  if (is(0, "ROLLBACK") || is(0, "ABORT")) return Statement::rollback;
  if (is(0, "SAVEPOINT")) return Statement::savepoint;
  if (is(0, "RELEASE")) return Statement::release_savepoint;
  if (is(0, "LISTEN")) return Statement::listen;
  if (is(0, "UNLISTEN")) return Statement::unlisten;
  if (is(0, "NOTIFY")) return Statement::notify;
  if (is(0, "SET") && is(1, "LOCAL")) return Statement::set_local;
  if (is(0, "SET")) return Statement::set;
  if (is(0, "SELECT") && is(1, "1") && words.size() == 2) return Statement::select_one;
  return Statement::unknown;
}

}  // namespace

StatementTexts::StatementTexts(const std::string& schema) {
  const auto file = [&](const char* text, Statement statement) {
    known_.emplace(trimmed(mortise::postgres::fill_in(text, schema)), statement);
  };
  file(sql::look, Statement::look);
  file(sql::ask_key, Statement::take_key);
  file(sql::look_key, Statement::look_key);
  file(sql::renew_all, Statement::renew_all);
  file(sql::inspect, Statement::inspect);
  file(sql::greet, Statement::greet);
  file(sql::check, Statement::check);
  file(sql::session, Statement::session);
  const auto call = [&](const std::string& what, Statement statement) {
    known_.emplace("SELECT " + schema + "." + what, statement);
  };
  const auto timed = [&](const std::string& what, Statement statement) {
    known_.emplace("SELECT pg_catalog.statement_timestamp(), " + schema + "." + what, statement);
  };
  timed("take($1, $2, $3, $4, $5, $6, $7)", Statement::take);
  timed("take_gate($1, $2, $3, $4, $5, $6, $7)", Statement::take_permit);
  timed("cancel($1, $2, $3)", Statement::cancel);
  timed("cancel_key($1, $2, $3, $4)", Statement::cancel_key);
  timed("cancel_gate($1, $2, $3)", Statement::cancel_permit);
  call("release($1, $2, $3, $4)", Statement::release);
  call("release_key($1, $2, $3, $4)", Statement::release_key);
  call("release_gate($1, $2, $3, $4)", Statement::release_permit);
  call("renew($1, $2, $3, $4)", Statement::renew);
  call("renew_share($1, $2, $3, $4)", Statement::renew_share);
  call("renew_share_gate($1, $2, $3, $4)", Statement::renew_share_gate);
  call("conclude_key($1, $2, ($3)[1], ($3)[2] = 1, ($3)[3] = 1, $4, ($3)[4])",
       Statement::conclude_key);
  call("conclude_in($1, $2, $3, true, $4, $5)", Statement::conclude_in);
  call("forget_key($1, $2)", Statement::forget_key);
  call("wake($1), CASE WHEN pg_catalog.cardinality($2) > 0 THEN " + schema +
           ".wake_run($2) END, CASE WHEN pg_catalog.cardinality($3) > 0 THEN " + schema +
           ".wake_gate($3) END",
       Statement::wake);
  call("guard($1, $2)", Statement::guard);
  call("lock_in($1, $2::integer)", Statement::lock_in);
  const auto at_home = [&](const char* what, Statement statement, std::size_t first) {
    known_.emplace(mortise::postgres::at_home(what, schema, first), statement);
  };
  at_home("guard($1, $2)", Statement::guard, 3);
  at_home("conclude_in($1, $2, $3, true, $4, $5)", Statement::conclude_in, 6);
  for (const char* const arguments : {"($1)", "($1, $2)", "($1, $2, $3)", "($1, $2, $3, $4)"}) {
    known_.emplace("SELECT * FROM " + schema + ".force_release" + arguments,
                   Statement::force_release);
  }
  for (const char* const strength : {"UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"}) {
    known_.emplace("SELECT FROM " + schema + ".lock WHERE name = $1 FOR " + strength,
                   Statement::lock_row);
  }
}

Parsed StatementTexts::recognise(std::string_view text) const {
  text = trimmed(text);
  Parsed parsed{.statement = Statement::unknown, .text = std::string(text), .words = {}};
  if (const auto found = known_.find(text); found != known_.end()) {
    parsed.statement = found->second;
    if (parsed.statement == Statement::lock_row) {
      parsed.words = {std::string(text.substr(text.rfind("FOR ") + 4))};
    }
    return parsed;
  }
  if (text.find("FROM pg_catalog.pg_stat_activity AS a WHERE a.pid") != std::string_view::npos) {
    parsed.statement = Statement::census;
    return parsed;
  }
  parsed.words = words_of(text);
  parsed.statement = command_of(parsed.words);
  return parsed;
}

std::vector<Parsed> StatementTexts::recognise_all(std::string_view text) const {
  if (Parsed whole = recognise(text);
      whole.statement != Statement::unknown && text.find(';') == std::string_view::npos) {
    return {whole};
  }
  std::vector<Parsed> all;
  while (!trimmed(text).empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    if (!trimmed(text.substr(0, end)).empty()) all.push_back(recognise(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

}  // namespace simulation::postgres
