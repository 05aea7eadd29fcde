// SPDX-License-Identifier: MIT
// The same about keys.
#pragma once

#include "simulation/postgres/questions.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace simulation::postgres {

class KeyQuestions : public Questions {
 public:
  using Questions::Questions;

 protected:
  using Questions::append;

  /// One of the library's statements, whose arguments get their types from it when it is prepared.
  static std::string typed(std::string text,
                           const std::vector<std::pair<std::string, std::string>>& types) {
    for (const auto& [argument, type] : types) {
      const std::string whole = argument + "::" + type;
      for (std::size_t at = text.find(argument); at != std::string::npos;
           at = text.find(argument, at + whole.size())) {
        text.replace(at, argument.size(), whole);
      }
    }
    return text;
  }

  static void append(Question& question, const std::vector<std::int64_t>& numbers) {
    std::string text;
    for (const std::int64_t each : numbers) {
      text += (text.empty() ? "" : ",") + std::to_string(each);
    }
    question.real_arguments.push_back("{" + text + "}");
    question.model_arguments.push_back(binary(numbers));
    question.words += " " + text;
  }

  static void append(Question& question, const std::vector<std::string>& bytes) {
    std::string text;
    for (const std::string& each : bytes) {
      text += (text.empty() ? "\"\\\\x" : ",\"\\\\x") + hex_of(each) + "\"";
    }
    question.real_arguments.push_back("{" + text + "}");
    question.model_arguments.push_back(binary(bytes));
    question.words += " " + text;
  }

  std::int64_t some_time() { return 1 + static_cast<std::int64_t>(pick(3'000'000)); }
  std::string result() { return std::string(pick(4), static_cast<char>(pick(256))); }

  Question ask_key() {
    const std::string text = mortise::postgres::fill_in(mortise::postgres::sql::ask_key, schema_);
    Question question = call(text, {name(), attempt()}, {});
    question.words.replace(0, text.size(), "ask_key");
    question.real = typed(text, {{"$3", "bigint[]"}, {"$4", "bytea[]"}});
    const auto how = static_cast<std::int64_t>(pick(4));
    append(question, std::vector{some_time(), how, static_cast<std::int64_t>(pick(3)),
                                 chance(20) ? 1'000 * some_time() : some_time()});
    append(question, std::vector<std::string>{chance(50) ? "label" : "", chance(80) ? "a" : "b"});
    append_moment(question, "$5", void_moment());
    return question;
  }

  Question conclude_key() {
    const std::string text =
        "SELECT " + schema_ +
        ".conclude_key($1, $2, ($3)[1], ($3)[2] = 1, ($3)[3] = 1, $4, ($3)[4])";
    const Hold its = hold(true);
    Question question = call(text, {its.name, its.attempt}, {});
    question.real = typed(text, {{"$3", "bigint[]"}});
    append(question, std::vector{its.number, std::int64_t{chance(20) ? 1 : 0},
                                 std::int64_t{chance(60) ? 1 : 0}, some_time()});
    const std::string bytes = result();
    question.real_arguments.push_back("\\x" + hex_of(bytes));
    question.model_arguments.push_back(bytes);
    question.words += " " + hex_of(bytes);
    return question;
  }

  Question conclude_in() {
    const Hold its = hold(true);
    Question question = call("SELECT " + schema_ + ".conclude_in($1, $2, $3, true, $4, $5)",
                             {its.name, its.attempt}, {its.number});
    const std::string bytes = result();
    const std::int64_t keep = some_time();
    question.real_arguments.push_back("\\x" + hex_of(bytes));
    question.real_arguments.push_back(std::to_string(keep));
    question.model_arguments.push_back(bytes);
    question.model_arguments.push_back(binary(keep));
    question.words += " " + hex_of(bytes) + " " + std::to_string(keep);
    return question;
  }

  Question cancel_key() {
    const Hold its = hold(true);
    Question question =
        call("SELECT pg_catalog.statement_timestamp(), " + schema_ + ".cancel_key($1, $2, $3, $4)",
             {its.name, its.attempt}, {});
    append(question, chance(30));
    const std::int64_t known = chance(40) ? -1 : chance(50) ? its.number : 0;
    question.words += " " + std::to_string(known);
    question.real_arguments.push_back(std::to_string(known));
    question.model_arguments.push_back(binary(known));
    return question;
  }

  Question wake_all() {
    const std::string text = "SELECT " + schema_ +
                             ".wake($1), CASE WHEN pg_catalog.cardinality($2) > 0 THEN " + schema_ +
                             ".wake_run($2) END, CASE WHEN pg_catalog.cardinality($3) > 0 THEN " +
                             schema_ + ".wake_gate($3) END";
    Question question{
        .words = text, .real = typed(text, {{"$2", "bytea[]"}, {"$3", "bytea[]"}}), .model = text};
    append(question, std::vector<std::string>{name()});
    append(question,
           chance(70) ? std::vector<std::string>{name(), name()} : std::vector<std::string>{});
    append(question, chance(50) ? std::vector<std::string>{name()} : std::vector<std::string>{});
    return question;
  }

  Question renew_all() {
    const std::string text = mortise::postgres::fill_in(mortise::postgres::sql::renew_all, schema_);
    Question question{.words = "renew_all",
                      .real = typed(text, {{"$1", "bytea[]"},
                                           {"$2", "bytea[]"},
                                           {"$3", "bigint[]"},
                                           {"$4", "bigint[]"},
                                           {"$5", "bigint[]"}}),
                      .model = text};
    std::vector<Hold> all;
    const std::uint64_t locks = pick(2);
    for (std::uint64_t i = 0; i < locks; ++i) all.push_back(hold());
    all.push_back(hold(true));
    const std::uint64_t readers = pick(2);
    for (std::uint64_t i = 0; i < readers; ++i) all.push_back(sharer(false));
    for (std::uint64_t left = pick(2); left > 0; --left) all.push_back(sharer(true));
    std::vector<std::string> names;
    std::vector<std::string> attempts;
    std::vector<std::int64_t> numbers;
    std::vector<std::int64_t> leases;
    for (const Hold& each : all) {
      names.push_back(each.name);
      attempts.push_back(each.attempt);
      numbers.push_back(each.number);
      leases.push_back(some_time());
    }
    append(question, names);
    append(question, attempts);
    append(question, numbers);
    append(question, leases);
    const auto keys_end = static_cast<std::int64_t>(locks + 1);
    append(question, std::vector<std::int64_t>{keys_end - 1, keys_end,
                                               keys_end + static_cast<std::int64_t>(readers)});
    return question;
  }

  Question of_key() {
    switch (pick(16)) {
      case 0: {
        const Hold its = hold(true);
        return call("SELECT " + schema_ + ".forget_key($1, $2)", {its.name},
                    {chance(50) ? its.number : -its.number});
      }
      case 1: {
        const std::string text =
            mortise::postgres::fill_in(mortise::postgres::sql::look_key, schema_);
        return call(text, {name()}, {});
      }
      case 2: return cancel_key();
      case 3: {
        const Hold its = hold(true);
        Question question = call("SELECT " + schema_ + ".release_key($1, $2, $3, $4)",
                                 {its.name, its.attempt}, {its.number});
        append(question, chance(50));
        return question;
      }
      case 4: return renew_all();
      case 5: return wake_all();
      case 6:
      case 7:
      case 8:
      case 9:
      case 10: return conclude_key();
      default: return ask_key();
    }
  }
};

}  // namespace simulation::postgres
