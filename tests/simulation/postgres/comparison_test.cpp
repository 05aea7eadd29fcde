// SPDX-License-Identifier: MIT
// The model beside the real server: random sequences of the library's functions by several
// sessions, inside and outside of open transactions. The same answers, and the same rows
// afterwards.
#include "model/seed.hpp"
#include "simulation/postgres/key_questions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simulation::postgres {
namespace {

constexpr std::size_t sessions = 5;
constexpr std::size_t of_users = 3;  // the first ones have transactions of their own

class Sequence final : private KeyQuestions {
 public:
  Sequence(mortise::test::PostgresServer& server, std::uint64_t seed, std::string schema)
      : KeyQuestions(std::move(schema), seed), both_(server, schema_, sessions + 1, seed) {
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

  /// An owner leaves a name for which two readers wait, and behind them a writer and a reader.
  std::string free_for_readers() {
    const std::string owner = client(0) + std::string(8, '\0');
    const auto take = [&](const std::string& who, bool reads) {
      Question question = call("SELECT pg_catalog.statement_timestamp(), " + schema_ +
                                   ".take($1, $2, $3, $4, $5, $6, $7)",
                               {"read", who}, {reads ? -1'000'000 : 1'000'000});
      question.real_arguments.insert(
          question.real_arguments.end(),
          {reads ? "\\x01" : "\\x", "3", "\\x"});  // it waits, and is fair
      question.model_arguments.insert(question.model_arguments.end(),
                                      {reads ? mark_of(0) : "", binary(3), ""});
      append_moment(question, "$7", both_.clock());
      return question;
    };
    std::string found = both_.ask(0, take(owner, false));
    for (int i = 1; i <= 4; ++i) {
      const std::string who =
          client(static_cast<std::uint64_t>(i % 2)) + std::string(7, '\0') + static_cast<char>(i);
      found += both_.ask(0, take(who, i != 3));
    }
    const std::optional<LockRow> row = committed("read");
    found += both_.ask(0, call("SELECT " + schema_ + ".release($1, $2, $3, $4)", {"read", owner},
                               {row->number, 0}));
    const std::string wake = "SELECT " + schema_ +
                             ".wake($1), CASE WHEN pg_catalog.cardinality($2) > 0 THEN " + schema_ +
                             ".wake_run($2) END, CASE WHEN pg_catalog.cardinality($3) > 0 THEN " +
                             schema_ + ".wake_gate($3) END";
    Question wakes{.words = "wake",
                   .real = typed(wake, {{"$2", "bytea[]"}, {"$3", "bytea[]"}}),
                   .model = wake};
    append(wakes, std::vector<std::string>{"read"});
    append(wakes, std::vector<std::string>{});
    append(wakes, std::vector<std::string>{});
    found += both_.ask(0, wakes);
    return found + both_.compare();
  }

  bool make_mistake(std::string_view name) { return both_.make_mistake(name); }

 private:
  void listen(const std::string& channel) {
    EXPECT_EQ(both_.ask(sessions, plain("LISTEN " + channel)), "");
  }

  [[nodiscard]] std::optional<LockRow> committed(const std::string& name) const override {
    return both_.model().row(name);
  }
  [[nodiscard]] Moment now() const override { return both_.clock(); }
  [[nodiscard]] std::vector<LockRow> committed_shares(const std::string& name) const override {
    return both_.model().shares(name);
  }
  Question of_library() {
    if (chance(25)) return of_share();
    return chance(40) ? of_key() : of_lock();
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
    switch (pick(14)) {
      case 12:
      case 13: return conclude_in();
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

TEST(PostgresComparison, AllReadersThatLeadAQueueAreTold) {
  MORTISE_NEEDS_POSTGRES_SERVER();
  mortise::test::PostgresServer server({.settings = {"fsync = off", "deadlock_timeout = 10s"}});
  Sequence right(server, 1, "compared_told");
  EXPECT_EQ(right.free_for_readers(), "");
  Sequence wrong(server, 1, "compared_untold");
  ASSERT_TRUE(wrong.make_mistake("postgres.one_reader_is_told"));
  EXPECT_NE(wrong.free_for_readers(), "");
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
  for (const std::string name : {"release_ignores_attempt",
                                 "renew_revives",
                                 "number_never_by_clock",
                                 "void_is_not_looked_at",
                                 "guard_does_not_lock",
                                 "never_told",
                                 "nobody_waits",
                                 "cancel_leaves_ticket",
                                 "cancel_leaves_hold",
                                 "tickets_last_for_ever",
                                 "take_in_wrong_turn",
                                 "freed_before_is_lost",
                                 "release_waits_for_notify",
                                 "own_hold_is_busy",
                                 "undo_leaves_the_key_pending",
                                 "lapsed_copy_is_left",
                                 "cancel_misses_an_insertion",
                                 "reader_overtakes_a_writer",
                                 "lapsed_reader_excludes",
                                 "one_permit_too_many",
                                 "outcome_recorded_after_the_loss",
                                 "sweep_removes_what_is_run",
                                 "forgets_whatever_it_finds",
                                 "two_run_a_key",
                                 "last_runner_runs_again",
                                 "any_request_is_answered",
                                 "one_is_told_of_an_outcome",
                                 "forgets_numbers_of_removed_keys"}) {
    Sequence sequence(server, seed, "mistake_" + std::to_string(++count));
    ASSERT_TRUE(sequence.make_mistake("postgres." + name));
    constexpr std::size_t enough = 60'000;
    EXPECT_NE(sequence.run(enough), "") << name;
  }
}

TEST(PostgresComparisonLong, RandomSequences) {
  compare(120'000, 3'000, mortise::model::test_seed());
}

}  // namespace
}  // namespace simulation::postgres
