// SPDX-License-Identifier: MIT
// The model beside the real server: random sequences of the library's functions by several
// sessions, inside and outside of open transactions. The same answers, and the same rows
// afterwards.
#include "model/seed.hpp"
#include "postgres/sql.hpp"
#include "postgres/statements.hpp"
#include "simulation/postgres/both.hpp"
#include "simulation/postgres/functions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simulation::postgres {
namespace {

namespace sql = mortise::postgres::sql;

constexpr std::size_t sessions = 5;
constexpr std::size_t of_users = 3;  // the first ones have transactions of their own

class Sequence {
 public:
  Sequence(mortise::test::PostgresServer& server, std::uint64_t seed, std::string schema)
      : schema_(std::move(schema)), random_(seed), both_(server, schema_, sessions + 1, seed) {
    constexpr Moment some_day = 800'000'000'000'000;
    both_.set_clock(some_day);
    for (const char* const channel : {"mortise_", "mortise_"}) {
      const std::string whole = channel + hex_of(client(channels_++));
      listen(whole);
    }
    listen(schema_);
  }

  /// @return what differed; "" = nothing
  std::string run(std::size_t operations) {
    constexpr std::size_t compare_every = 40;
    for (std::size_t i = 1; i <= operations; ++i) {
      std::string found;
      try {
        found = one();
      } catch (const std::exception& error) {
        found = error.what();
      }
      if (found.empty() && i % compare_every == 0) found = both_.compare();
      if (!found.empty()) return "operation " + std::to_string(i) + ": " + found + trace();
    }
    for (std::size_t i = 0; i < of_users; ++i) {
      const std::string found = both_.ask(i, plain("ROLLBACK"));
      if (!found.empty()) return found;
    }
    return both_.compare();
  }

  /// A row that came after a snapshot was taken is met by an insertion.
  /// @param changed somebody is changing it; else somebody only has it locked
  std::string meet_what_came_since(bool changed) {
    const Question take = call("SELECT " + schema_ + ".lock_in($1, $2::integer)", {"new"}, {1});
    const Question lock =
        call("SELECT FROM " + schema_ + ".lock WHERE name = $1 FOR KEY SHARE", {"new"}, {});
    const std::vector<std::pair<std::size_t, Question>> all = {
        {0, plain("BEGIN ISOLATION LEVEL REPEATABLE READ")},
        {0, plain("SELECT 1")},  // only now it has its snapshot
        {1, take},
        {2, plain("BEGIN")},
        {2, changed ? take : lock},
        {0, take},
        {0, plain("ROLLBACK")},
        {2, plain("ROLLBACK")}};
    std::string found;
    for (const auto& [session, question] : all) {
      found += both_.ask(session, question);
      if (session == 0 && question.words == take.words) met_ = both_.last();
    }
    return found + both_.compare();
  }
  /// @return what that insertion has met.
  [[nodiscard]] const Answers& met() const noexcept { return met_; }

  bool make_mistake(std::string_view name) { return both_.make_mistake(name); }

 private:
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
  void listen(const std::string& channel) {
    EXPECT_EQ(both_.ask(sessions, plain("LISTEN " + channel)), "");
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
    Question question = call(text, {name(), attempt()}, {lease});
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
  Hold hold() {
    Hold its{.name = name(), .attempt = attempt()};
    if (const std::optional<LockRow> row = both_.model().row(its.name)) {
      if (!row->attempt.empty() && chance(85)) its.attempt = row->attempt;
      its.number = row->number - (chance(10) ? 1 : 0);
    }
    return its;
  }

  Question renewal() {
    std::vector<std::string> names;
    std::vector<std::string> attempts;
    std::vector<std::int64_t> numbers;
    std::vector<std::int64_t> leases;
    std::string texts[4];
    for (std::uint64_t left = 1 + pick(3); left > 0; --left) {
      const Hold its = hold();
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
    const std::string text = "SELECT " + schema_ + ".renew($1, $2, $3, $4)";
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
    const Hold its = hold();
    const std::string arguments = chance(50) ? "($1)" : "($1, $2)";
    std::vector<std::int64_t> number;
    if (arguments != "($1)") number.push_back(its.number);
    Question question =
        call("SELECT * FROM " + schema_ + ".force_release" + arguments, {its.name}, number);
    const auto micros = [](const std::string& column) {
      return "((extract(epoch FROM " + column + ") - 946684800) * 1000000)::bigint";
    };
    question.real = "SELECT its_number, " + micros("its_end") + ", its_label, " + micros("at") +
                    ", waiters FROM " + schema_ + ".force_release" + arguments;
    return question;
  }

  Question of_library() {
    const std::string take = "($1, $2, $3, $4, $5)";
    switch (pick(16)) {
      case 0: return take_like("SELECT " + schema_ + ".take_apart" + take, 7);
      case 1:
      case 2: return file("look", sql::look, 2);
      case 3: return file("peek", sql::peek, 2);
      case 4:
      case 5:
      case 6: return file("ask", sql::ask, 15);
      case 7:
      case 8:
      case 9: return release(false);
      case 10: return release(true);
      case 11: return cancel();
      case 12: return renewal();
      case 13: return chance(20) ? force_release() : release(false);
      default: return take_like("SELECT " + schema_ + ".take" + take, 3);
    }
  }

  Question of_user(std::size_t session) {
    static constexpr const char* strengths[] = {"UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"};
    bool& open = open_[session];
    bool& repeatable = repeatable_[session];
    bool& divided = divided_[session];
    if (!open) {
      open = true;
      divided = false;
      tells_[session] = false;
      repeatable = chance(30);
      return plain(repeatable ? "BEGIN ISOLATION LEVEL REPEATABLE READ" : "BEGIN");
    }
    // What tells somebody waits for it as long as it takes, and so does all that comes after it.
    if (std::exchange(tells_[session], false)) return plain("SET LOCAL lock_timeout = '1ms'");
    switch (pick(12)) {
      case 0:
      case 1: open = false; return plain(chance(60) ? "COMMIT" : "ROLLBACK");
      case 2: divided = true; return plain("SAVEPOINT one");
      case 3: return plain("ROLLBACK TO one");
      case 4:
        return call("SELECT FROM " + schema_ + ".lock WHERE name = $1 FOR " + strengths[pick(4)],
                    {name()}, {});
      case 5:
      case 6:
        divided = true;
        return call("SELECT " + schema_ + ".lock_in($1, $2::integer)", {name()}, {1});
      case 7:
      case 8: {
        const Hold its = hold();
        return call("SELECT " + schema_ + ".guard($1, $2)", {its.name}, {its.number});
      }
      // At repeatable read, and where there are subtransactions, the library calls nothing else:
      // the model does not tell the numbers of subtransactions in a row from those of others.
      default: break;
    }
    if (repeatable || divided) return plain("SELECT 1");
    tells_[session] = true;
    return of_library();
  }

  void move_clock() {
    if (chance(60)) return;
    const auto step = static_cast<Moment>(chance(5)    ? 200 * second + pick(200 * second)
                                          : chance(50) ? pick(10'000)
                                                       : pick(2 * second));
    both_.set_clock(both_.clock() + (chance(5) ? -step / 100 : step));
  }

  std::string one() {
    move_clock();
    const std::size_t session = pick(sessions);
    // A user's transactions take turns with calls without one.
    const bool of_a_user = session < of_users && (open_[session] || chance(20));
    const Question question = of_a_user ? of_user(session) : of_library();
    said_.push_back(std::to_string(session) + " at " + std::to_string(both_.clock()) + ": " +
                    question.words);
    std::string found = both_.ask(session, question);
    said_.back() += " -> ";
    for (const auto& row : both_.last()) {
      for (const std::string& value : row) said_.back() += value + " ";
    }
    return found;
  }

  [[nodiscard]] std::string trace() const {
    constexpr std::size_t enough = 60;
    std::string out = "\nbefore:";
    for (std::size_t i = said_.size() > enough ? said_.size() - enough : 0; i < said_.size(); ++i) {
      out += "\n" + said_[i];
    }
    return out;
  }

  const std::string schema_;
  std::mt19937_64 random_;
  std::uint64_t channels_ = 0;
  Both both_;
  bool open_[sessions] = {};
  bool repeatable_[sessions] = {};
  bool tells_[sessions] = {};    // what was asked in its transaction may have told somebody
  bool divided_[sessions] = {};  // it has, or had, subtransactions
  std::vector<std::string> said_;
  Answers met_;
};

/// Sequences until so many operations are done.
void compare(std::size_t operations, std::size_t at_once, std::uint64_t seed) {
  MORTISE_NEEDS_POSTGRES_SERVER();
  mortise::test::PostgresServer server({.settings = {"fsync = off", "deadlock_timeout = 10s"}});
  for (std::size_t i = 0; i * at_once < operations; ++i) {
    Sequence sequence(server, seed + i, "compared_" + std::to_string(i));
    const std::string found = sequence.run(at_once);
    ASSERT_EQ(found, "") << "MORTISE_SEED=" << seed + i;
  }
}

TEST(PostgresComparison, WhoOnlyHasARowLockedIsNotInTheWayOfFindingIt) {
  MORTISE_NEEDS_POSTGRES_SERVER();
  mortise::test::PostgresServer server({.settings = {"fsync = off", "deadlock_timeout = 10s"}});
  Sequence locked(server, 1, "compared_locked");
  EXPECT_EQ(locked.meet_what_came_since(false), "");
  EXPECT_EQ(locked.met(), (Answers{{"error 40001"}}));
  Sequence changed(server, 1, "compared_changed");
  EXPECT_EQ(changed.meet_what_came_since(true), "");
  EXPECT_EQ(changed.met(), (Answers{{"B"}}));
}

// The same sequences each time, unless a seed is given: the long form goes on to others.
TEST(PostgresComparison, RandomSequences) {
  const bool given = std::getenv("MORTISE_SEED") != nullptr;
  compare(2'000, 1'000, given ? mortise::model::test_seed() : 8);
}
// A comparison that nothing can fail would say nothing. The mistakes that need a crash, or somebody
// who comes in between two steps, are the simulation's to find.
TEST(PostgresComparisonLong, FindsMistakes) {
  MORTISE_NEEDS_POSTGRES_SERVER();
  const std::uint64_t seed = mortise::model::test_seed();
  mortise::test::PostgresServer server({.settings = {"fsync = off", "deadlock_timeout = 10s"}});
  std::size_t count = 0;
  for (const std::string name :
       {"release_ignores_attempt", "renew_revives", "number_never_by_clock",
        "late_copy_not_refused", "guard_does_not_lock", "never_told", "nobody_waits",
        "cancel_leaves_ticket", "cancel_leaves_hold", "tickets_last_for_ever", "take_in_wrong_turn",
        "freed_before_is_lost", "release_waits_for_notify", "tombstones_never_cleared"}) {
    Sequence sequence(server, seed, "mistake_" + std::to_string(++count));
    ASSERT_TRUE(sequence.make_mistake("postgres." + name));
    constexpr std::size_t enough = 40'000;
    EXPECT_NE(sequence.run(enough), "") << name;
  }
}

TEST(PostgresComparisonLong, RandomSequences) {
  compare(120'000, 3'000, mortise::model::test_seed());
}

}  // namespace
}  // namespace simulation::postgres
