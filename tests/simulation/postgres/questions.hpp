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

  Question take_like(const std::string& text, std::uint64_t bits) {
    const std::int64_t lease = 1 + static_cast<std::int64_t>(pick(3'000'000));
    const auto copies = static_cast<std::int64_t>(16 * (1 + pick(3)));
    last_name_ = name();
    Question question = call(text, {last_name_, attempt()}, {lease});
    const std::string label = chance(50) ? "label" : "";
    question.real_arguments.push_back("\\x" + hex_of(label));
    question.model_arguments.push_back(label);
    const std::int64_t how = copies + static_cast<std::int64_t>(pick(16) & bits);
    question.real_arguments.push_back(std::to_string(how));
    question.model_arguments.push_back(binary(how));
    question.words += " how " + std::to_string(how);
    return question;
  }

  Question file(const char* what, const char* text, std::uint64_t bits) {
    Question question = take_like(mortise::postgres::fill_in(text, schema_), bits);
    question.words.replace(0, question.real.size(), what);
    return question;
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

  Question release(bool apart) {
    const Hold its = hold();
    const auto how = static_cast<std::int64_t>(16 * (1 + pick(3)) + (chance(10) ? 4 : 0) +
                                               (chance(50) ? 2 : 0) + (chance(50) ? 1 : 0));
    return call("SELECT " + schema_ + (apart ? ".release_apart" : ".release") + "($1, $2, $3, $4)",
                {its.name, its.attempt}, {its.number, how});
  }

  Question cancel() {
    const auto how =
        static_cast<std::int64_t>(16 * (1 + pick(3)) + (chance(30) ? 4 : 0) + (chance(50) ? 1 : 0));
    return call("SELECT " + schema_ + ".cancel($1, $2, $3)", {name(), attempt()}, {how});
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

  /// Of a reader, or of a permit.
  Question share(bool permit) {
    Question question =
        permit       ? file("ask_permit", mortise::postgres::sql::ask_permit, 15)
        : chance(30) ? take_like("SELECT " + schema_ + ".share($1, $2, $3, $4, $5, $6, 0)", 3)
                     : file("ask_share", mortise::postgres::sql::ask_share, 15);
    std::string beside;
    if (const std::optional<LockRow> row = committed(last_name_); row && !permit && chance(30)) {
      beside = row->attempt;
    }
    question.real_arguments.push_back("\\x" + hex_of(beside));
    question.model_arguments.push_back(beside);
    question.words += " beside " + hex_of(beside);
    if (permit) {
      const std::int64_t permits = chance(90) ? 2 : 3;
      question.real_arguments.push_back(std::to_string(permits));
      question.model_arguments.push_back(binary(permits));
    }
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
    const auto how = static_cast<std::int64_t>(16 * (1 + pick(3)) + (chance(10) ? 4 : 0) +
                                               (chance(50) ? 2 : 0) + (chance(50) ? 1 : 0));
    return call("SELECT " + schema_ + (chance(50) ? ".release" : ".release_apart") +
                    (permit ? "_gate" : "") + "($1, $2, $3, $4)",
                {its.name, its.attempt}, {its.number, how});
  }

  Question of_share() {
    const bool permit = chance(40);
    switch (pick(8)) {
      case 0:
      case 1:
      case 2: return end_of_share(permit);
      case 3: {
        const auto how = static_cast<std::int64_t>(16 * (1 + pick(3)) + (chance(30) ? 4 : 0) +
                                                   (chance(50) ? 1 : 0));
        const Hold its = sharer(true);
        return call("SELECT " + schema_ + ".cancel_gate($1, $2, $3)", {its.name, its.attempt},
                    {how});
      }
      default: return share(permit);
    }
  }

  /// What the library asks of locks.
  Question of_lock() {
    const std::string take = "($1, $2, $3, $4, $5)";
    switch (pick(16)) {
      case 0: return take_like("SELECT " + schema_ + ".take_apart" + take, 7);
      case 1:
      case 2: return file("look", mortise::postgres::sql::look, 2);
      case 3: return file("peek", mortise::postgres::sql::peek, 2);
      case 4:
      case 5:
      case 6: return file("ask", mortise::postgres::sql::ask, 15);
      case 7:
      case 8:
      case 9: return release(false);
      case 10: return release(true);
      case 11: return cancel();
      case 12:
        return chance(40) ? renewal() : renewal(chance(60) ? ".renew_share" : ".renew_share_gate");
      case 13: return chance(20) ? force_release() : release(false);
      default: return take_like("SELECT " + schema_ + ".take" + take, 3);
    }
  }

  const std::string schema_;

 private:
  std::string last_name_{};
  std::mt19937_64 random_;
};

}  // namespace simulation::postgres
