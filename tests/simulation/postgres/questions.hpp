// SPDX-License-Identifier: MIT
// Random statements about locks, as the library sends them, for the model and the real server.
#pragma once

#include "postgres/sql.hpp"
#include "postgres/statements.hpp"
#include "simulation/postgres/both.hpp"
#include "simulation/postgres/functions.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace simulation::postgres {

class Questions {
 public:
  Questions(std::string schema, std::uint64_t seed) : schema_(std::move(schema)), random_(seed) {}
  virtual ~Questions() = default;

 protected:
  /// @return a row as it is committed in the model.
  [[nodiscard]] virtual std::optional<LockRow> committed(const std::string& name) const = 0;
  /// @return the clock of both.
  [[nodiscard]] virtual Moment now() const = 0;
  /// @return who shares it; the first with an empty attempt.
  [[nodiscard]] virtual std::vector<LockRow> committed_shares(const std::string& name) const = 0;

  std::uint64_t pick(std::uint64_t count) { return random_() % count; }
  bool chance(std::uint64_t in_a_hundred) { return pick(100) < in_a_hundred; }
  static std::string client(std::uint64_t which) {
    return std::string(15, '\xab') + static_cast<char>('0' + which);
  }
  std::string attempt() {
    return client(pick(2)) + std::string(7, '\0') + static_cast<char>(pick(3));
  }
  std::string name() { return "name " + std::to_string(chance(10) ? pick(1'000) : pick(4)); }

  static Question plain(const std::string& text) {
    return {.words = text, .real = text, .model = text};
  }
  /// A call with some of name, attempt and numbers, in that order.
  Question call(const std::string& text, const std::vector<std::string>& bytes,
                const std::vector<std::int64_t>& numbers) const {
    Question question{.words = text, .real = text, .model = text};
    for (const std::string& each : bytes) {
      question.words += " " + hex_of(each);
      question.real_arguments.push_back("\\x" + hex_of(each));
      question.model_arguments.push_back(each);
    }
    for (const std::int64_t each : numbers) {
      question.words += " " + std::to_string(each);
      question.real_arguments.push_back(std::to_string(each));
      question.model_arguments.push_back(binary(each));
    }
    return question;
  }

  /// A moment as the last argument, which the real server is given as a number.
  void append_moment(Question& question, const std::string& argument, Moment moment) const {
    question.real_arguments.push_back(std::to_string(moment));
    question.model_arguments.push_back(binary(moment));
    question.words += " until " + std::to_string(moment);
    const std::size_t at = question.real.find(argument);
    question.real.replace(at, argument.size(),
                          "('2000-01-01 00:00:00+00'::timestamptz + " + argument +
                              "::bigint * interval '1 microsecond')");
  }
  /// Until when a request may take: it has come in time, or has not.
  Moment void_moment() {
    const auto far = static_cast<Moment>(pick(1'000'000));
    return now() + (chance(85) ? far : -far);
  }

  enum class Of { owner, reader, permit };
  /// A request to take. @param how the bits that it may have
  Question take_like(const std::string& words, const std::string& text, Of of, std::uint64_t how) {
    const std::int64_t lease = 1 + static_cast<std::int64_t>(pick(3'000'000));
    last_name_ = name();
    Question question = call(text, {last_name_, attempt()}, {of == Of::owner ? lease : -lease});
    question.words.replace(0, question.real.size(), words);
    const std::int64_t permits = of != Of::permit ? 0 : chance(90) ? 2 : 3;
    const std::string label =
        (of == Of::owner ? std::string() : mark_of(permits)) + (chance(50) ? "label" : "");
    question.real_arguments.push_back("\\x" + hex_of(label));
    question.model_arguments.push_back(label);
    const auto bits = static_cast<std::int64_t>(pick(16) & how);
    question.real_arguments.push_back(std::to_string(bits));
    question.model_arguments.push_back(binary(bits));
    std::string beside;
    if (const std::optional<LockRow> row = committed(last_name_);
        row && of == Of::reader && chance(30)) {
      beside = row->attempt;
    }
    question.real_arguments.push_back("\\x" + hex_of(beside));
    question.model_arguments.push_back(beside);
    question.words += " how " + std::to_string(bits) + " beside " + hex_of(beside);
    append_moment(question, "$7", void_moment());
    return question;
  }
  /// look.sql, which waits for nothing; or the function itself.
  Question look(Of of) {
    const std::string text = mortise::postgres::fill_in(mortise::postgres::sql::look, schema_);
    return take_like(of == Of::owner ? "look" : "look to read", text, of, 10);
  }
  Question take(Of of) {
    const std::string text = "SELECT pg_catalog.statement_timestamp(), " + schema_ + ".take" +
                             (of == Of::permit ? "_gate" : "") + "($1, $2, $3, $4, $5, $6, $7)";
    return take_like(text, text, of, 11);
  }

  static void append(Question& question, bool flag) {
    question.words += flag ? " yes" : " no";
    question.real_arguments.emplace_back(flag ? "t" : "f");
    question.model_arguments.emplace_back(1, flag ? '\1' : '\0');
  }

  /// The hold of a name as it is committed, mostly; or something like it.
  struct Hold {
    std::string name{};
    std::string attempt{};
    std::int64_t number = 0;
  };
  Hold hold(bool of_key = false) {
    Hold its{.name = name(), .attempt = attempt()};
    const std::string row_name = of_key ? run_name(its.name) : its.name;
    if (const std::optional<LockRow> row = committed(row_name)) {
      if (!row->attempt.empty() && chance(85)) its.attempt = row->attempt;
      its.number = row->number - (chance(10) ? 1 : 0);
    }
    return its;
  }

  /// Owners, or those who share names.
  Question renewal(const char* function = ".renew") {
    const std::string which(function);
    std::vector<std::string> names;
    std::vector<std::string> attempts;
    std::vector<std::int64_t> numbers;
    std::vector<std::int64_t> leases;
    std::string texts[4];
    for (std::uint64_t left = 1 + pick(3); left > 0; --left) {
      const Hold its = which == ".renew" ? hold() : sharer(which == ".renew_share_gate");
      // Which of two requests for one hold is carried out, is the planner's choice.
      if (std::find(names.begin(), names.end(), its.name) != names.end()) continue;
      names.push_back(its.name);
      attempts.push_back(its.attempt);
      numbers.push_back(its.number);
      leases.push_back(1 + static_cast<std::int64_t>(pick(3'000'000)));
      texts[0] += (texts[0].empty() ? "" : ",") + ("\"\\\\x" + hex_of(its.name) + "\"");
      texts[1] += (texts[1].empty() ? "" : ",") + ("\"\\\\x" + hex_of(its.attempt) + "\"");
      texts[2] += (texts[2].empty() ? "" : ",") + std::to_string(numbers.back());
      texts[3] += (texts[3].empty() ? "" : ",") + std::to_string(leases.back());
    }
    const std::string text = "SELECT " + schema_ + which + "($1, $2, $3, $4)";
    Question question{.words = text, .real = text, .model = text};
    for (const std::string& each : texts) question.real_arguments.push_back("{" + each + "}");
    question.model_arguments = {binary(names), binary(attempts), binary(numbers), binary(leases)};
    for (const std::string& each : texts) question.words += " " + each;
    return question;
  }

  std::int64_t own_session() { return chance(50) ? 8 : 0; }

  Question release() {
    const Hold its = hold();
    return call("SELECT " + schema_ + ".release($1, $2, $3, $4)", {its.name, its.attempt},
                {its.number, own_session()});
  }

  Question cancel(const std::string& function, const std::string& of, const std::string& who) {
    Question question = call(
        "SELECT pg_catalog.statement_timestamp(), " + schema_ + "." + function + "($1, $2, $3)",
        {of, who}, {});
    append(question, chance(30));
    return question;
  }

  Question force_release() {
    const Hold its = chance(50) ? hold() : sharer(chance(50));
    // Of the lock, of the semaphore, and of the key of that name.
    const std::size_t of = chance(30) ? 0 : 1 + pick(3);
    const std::string arguments = std::string("($1, $2, $3, $4").substr(0, 3 + 4 * of) + ")";
    std::vector<std::int64_t> number;
    number.assign(of, its.number);
    if (of == 3) {
      if (const auto run = committed(run_name(its.name))) number[2] = run->number;
    }
    if (of > 1 && chance(40)) number[pick(of)] = 0;
    Question question =
        call("SELECT * FROM " + schema_ + ".force_release" + arguments, {its.name}, number);
    const auto micros = [](const std::string& column) {
      return "((extract(epoch FROM " + column + ") - 946684800) * 1000000)::bigint";
    };
    question.real = "SELECT its_number, " + micros("its_end") + ", its_label, " + micros("at") +
                    ", waiters FROM " + schema_ + ".force_release" + arguments;
    return question;
  }

  /// One of those who share a name, mostly, and the number that it has.
  Hold sharer(bool permit) {
    Hold its = hold();
    const std::string row_name = permit ? gate_name(its.name) : its.name;
    const auto all = committed_shares(row_name);
    const std::optional<LockRow> row = committed(row_name);
    if (row && row->lease < 0 && chance(90)) {
      its.attempt = row->attempt;
      its.number = row->number - (chance(10) ? 1 : 0);
    } else if (all.size() > 1 && chance(90)) {
      const LockRow& one = all[1 + pick(all.size() - 1)];
      its.attempt = one.attempt;
      its.number = one.number - (chance(10) ? 1 : 0);
    }
    return its;
  }

  Question end_of_share(bool permit) {
    const Hold its = sharer(permit);
    return call("SELECT " + schema_ + ".release" + (permit ? "_gate" : "") + "($1, $2, $3, $4)",
                {its.name, its.attempt}, {its.number, own_session()});
  }

  Question of_share() {
    const bool permit = chance(40);
    switch (pick(8)) {
      case 0:
      case 1:
      case 2: return end_of_share(permit);
      case 3: {
        const Hold its = sharer(true);
        return cancel("cancel_gate", its.name, its.attempt);
      }
      default: return permit ? take(Of::permit) : chance(40) ? look(Of::reader) : take(Of::reader);
    }
  }

  /// What the library asks of locks.
  Question of_lock() {
    switch (pick(16)) {
      case 0:
      case 1:
      case 2:
      case 3: return look(Of::owner);
      case 7:
      case 8:
      case 9:
      case 10: return release();
      case 11: return cancel("cancel", name(), attempt());
      case 12:
        return chance(40) ? renewal() : renewal(chance(60) ? ".renew_share" : ".renew_share_gate");
      case 13: return chance(20) ? force_release() : release();
      default: return take(Of::owner);
    }
  }

  const std::string schema_;

 private:
  std::string last_name_{};
  std::mt19937_64 random_;
};

}  // namespace simulation::postgres
