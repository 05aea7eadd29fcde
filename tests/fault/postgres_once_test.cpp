// SPDX-License-Identifier: MIT
// Goal: with the outcome inside the transaction of the effect there is exactly one effect for each
// key, and everybody is told of that one, whoever is killed when. Method: processes run keys and
// are killed at random moments, until all keys have an outcome; then the table of effects is
// counted, and compared with what is remembered. The same program that commits its effect by itself
// and records the outcome afterwards is the control: it must make some effect twice.
#include "fault/postgres_transactions.hpp"
#include "model/dice.hpp"
#include "model/process.hpp"
#include "model/seed.hpp"

#include <array>
#include <future>
#include <iostream>
#include <thread>

namespace mortise::fault {
namespace {

constexpr int keys = 30;
constexpr std::uint32_t parties = 3;
constexpr std::chrono::milliseconds runners_lease{300};
constexpr std::array levels{"read committed", "repeatable read", "serializable"};

class PostgresOnce : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    server().talk().run(
        "create table effects (key text, token bigint); grant all on effects to shop");
  }

  /// One run of the story. @return how many keys have more effects than one
  int tell(bool in_one, std::uint64_t seed) {
    server().talk().run("truncate effects, mortise.once, mortise.run");
    model::Dice dice(seed);
    std::array<model::Process, parties> all;
    int killed = 0;
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (see("select count(*) from mortise.once where state = 'Y'") != std::to_string(keys)) {
      if (std::chrono::steady_clock::now() > end) {
        ADD_FAILURE() << "they do not come to an end";
        break;
      }
      model::Process& one = all.at(dice.below(parties));
      const bool done = one.pid() > 0 && one.wait_for(0ms);
      if (done) {
        EXPECT_EQ(one.wait_for(0ms)->code, 0) << "told of another result";
      }
      if (one.pid() > 0 && !done) {
        one.kill();
        ++killed;
      }
      one = model::Process::fork_child([&, mine = dice.number()] { return work(in_one, mine); });
      std::this_thread::sleep_for(dice.between(1ms, 40ms));
    }
    all = {};  // not each of them may have been needed
    const auto count = [&](const std::string& sql) { return std::stoi(see(sql)); };
    const int several =
        count("select count(*) from (select from effects group by key having count(*) > 1) as s");
    std::cout << killed << " killed; runs of a key: "
              << see("select string_agg(run::text, ' ' order by key) from mortise.once")
              << "; with more effects than one: " << several << '\n';
    if (in_one) {
      EXPECT_GT(killed, 0);
      EXPECT_EQ(count("select count(*) from effects"), keys);
      EXPECT_EQ(count("select count(*) from effects as e join mortise.once as o"
                      " on o.key = convert_to(e.key, 'UTF8')"
                      " and o.bytes = convert_to(e.token::text, 'UTF8') and o.state = 'Y'"),
                keys);
    }
    return several;
  }

 private:
  /// A process that is killed, or has seen an outcome of each key. @return 0: those of its effects
  int work(bool in_one, std::uint64_t seed) {
    model::Dice dice(seed);
    try {
      Client mine = client();
      PostgresTalk user = server().user();
      for (int i = 0; i < keys; ++i) {
        const std::string key =
            "key " + std::to_string((i + static_cast<int>(dice.below(keys))) % keys);
        const mortise::Outcome outcome =
            mine.make_once(key, {.wait = 2s, .lease = runners_lease}).run([&](mortise::Run& run) {
              act(user, run, dice, in_one);
            });
        if (outcome.state() != KeyState::succeeded) continue;
        const auto rows = user.rows("select token from effects where key = $1 and token = $2",
                                    {key, outcome.result()});
        if (rows.size() != 1) return 1;
      }
      mine.close();
    } catch (const std::exception& error) {
      std::cout << "a party was told: " << error.what() << '\n';
    }
    return 0;
  }
  static void act(PostgresTalk& user, mortise::Run& run, model::Dice& dice, bool in_one) {
    const std::string token = std::to_string(run.token().value());
    user.run(std::string("begin isolation level ") + levels.at(dice.below(levels.size())));
    static_cast<void>(user.rows("insert into effects values ($1, $2)", {run.key(), token}));
    const auto pause = [&] { std::this_thread::sleep_for(dice.between(0ms, 6ms)); };
    pause();
    if (!in_one) {
      user.run("commit");
      pause();
      run.succeed(token);
      return;
    }
    if (dice.chance(0.5)) {
      postgres::commit(user.handle(), run, token);
      return;
    }
    postgres::conclude(user.handle(), run, token);
    pause();
    user.run("commit");
    pause();
    if (dice.chance(0.5)) run.succeed(token);
    run.give_back();
  }
};

class PostgresOnceLong : public PostgresOnce {};

// Promise: O2
TEST_F(PostgresOnce, HasOneEffectAndItsOutcomeWhoeverIsKilled) {
  EXPECT_EQ(tell(true, model::test_seed()), 0);
}

TEST_F(PostgresOnce, HasSeveralWhereTheyAreNotOneTransaction) {
  const std::uint64_t seed = model::test_seed();
  int several = 0;
  for (std::uint64_t time = 0; several == 0 && time < 10; ++time)
    several = tell(false, seed + time);
  EXPECT_GT(several, 0) << "what is tested here shows nothing";
}

// Promise: O2
TEST_F(PostgresOnceLong, HasOneEffectAndItsOutcomeTwentyTimesOver) {
  const std::uint64_t seed = model::test_seed();
  for (std::uint64_t time = 0; time < 20; ++time) ASSERT_EQ(tell(true, seed + time), 0) << time;
}

/// conclude() and commit() as users call them.
class PostgresConclude : public PostgresTransactions {
 protected:
  [[nodiscard]] mortise::Outcome look(const std::string& key) {
    Client other = client();
    return other.make_once(key).look();
  }
};

TEST_P(PostgresConclude, CommitsBothAndFreesTheKey) {
  Client mine = client();
  PostgresTalk user = server().user();
  const mortise::Outcome outcome = mine.make_once("a").run([&](mortise::Run& run) {
    user.run(begin());
    user.run("update orders set charged = 1");
    const mortise::Outcome committed = postgres::commit(user.handle(), run, "receipt");
    EXPECT_EQ(committed.state(), KeyState::succeeded);
    EXPECT_FALSE(run);
  });
  EXPECT_EQ(outcome.result(), "receipt");
  EXPECT_EQ(charged(), "1");
  EXPECT_EQ(look("a").result(), "receipt");
  EXPECT_EQ(see("select expires_at = '-infinity' from mortise.run"), "t");
}

TEST_P(PostgresConclude, RolledBackLeavesThePendingKeyToTheRunner) {
  Client mine = client();
  PostgresTalk user = server().user();
  mortise::Run run = mine.make_once("a").begin();
  user.run(begin());
  user.run("update orders set charged = 1");
  postgres::conclude(user.handle(), run, "receipt");
  EXPECT_TRUE(run) << "it may be rolled back yet";
  user.run("rollback");
  EXPECT_EQ(charged(), "0");
  EXPECT_EQ(look("a").state(), KeyState::pending);
  EXPECT_TRUE(look("a").running());
  EXPECT_EQ(run.fail("no").state(), KeyState::failed);
  EXPECT_EQ(look("a").reason(), "no");
}

TEST_P(PostgresConclude, TellsARunnerThatWasReplaced) {
  Client mine = client();
  PostgresTalk user = server().user();
  mortise::Run run = mine.make_once("a", {.lease = 10s}).begin();
  server().talk().run("update mortise.run set expires_at = clock_timestamp()");
  mortise::Run next = client().make_once("a").begin();
  ASSERT_TRUE(next);
  EXPECT_EQ(next.number(), 2U);
  user.run(begin());
  user.run("update orders set charged = 1");
  EXPECT_EQ(failure_of([&] { postgres::conclude(user.handle(), run, "receipt"); }).code,
            Errc::lost);
  user.run("rollback");
  EXPECT_EQ(look("a").state(), KeyState::pending);
}

TEST_P(PostgresConclude, WakesThoseWhoWaitForTheOutcome) {
  Client mine = client();
  PostgresTalk user = server().user();
  mortise::Run run = mine.make_once("a", {.lease = 30s}).begin();
  Client other = client();
  auto told =
      std::async(std::launch::async, [&] { return other.make_once("a").begin().outcome(); });
  ASSERT_TRUE(eventually(
      [&] { return see("select waiters_until > clock_timestamp() from mortise.run") == "t"; }));
  user.run(begin());
  static_cast<void>(postgres::commit(user.handle(), run, "receipt"));
  EXPECT_EQ(told.get().result(), "receipt");
}

TEST_P(PostgresConclude, SaysWhatIsWrong) {
  Client mine = client();
  PostgresTalk user = server().user();
  mortise::Run run = mine.make_once("a").begin();
  const auto code = [&](mortise::Run& each, const std::string& result) {
    return failure_of([&] { postgres::conclude(user.handle(), each, result); }).code;
  };
  EXPECT_EQ(code(run, "receipt"), Errc::misconfigured) << "no transaction";
  user.run(begin());
  EXPECT_EQ(code(run, std::string(longest_outcome + 1, 'x')), Errc::misconfigured);
  mortise::Run none;
  EXPECT_EQ(code(none, "receipt"), Errc::lost);
  std::string longest;
  while (longest.size() < longest_outcome) longest += static_cast<char>(longest.size());
  EXPECT_EQ(code(run, longest), std::error_code());
  EXPECT_EQ(code(run, longest), Errc::misconfigured) << "twice";
  user.run("rollback");
  user.run(begin());
  EXPECT_EQ(postgres::commit(user.handle(), run, longest).result(), longest);
  EXPECT_EQ(look("a").result(), longest);
}

INSTANTIATE_TEST_SUITE_P(At, PostgresConclude, isolation_levels(), isolation_level_of);

}  // namespace
}  // namespace mortise::fault
