// SPDX-License-Identifier: MIT
// Goal: the functions of keys decide as the library says, keep apart what has to be apart, and
// leave nothing behind for ever. Method: they are called as the library calls them, by sessions of
// the test's own, which are also late, dead or in a transaction.
#include "core/verdict.hpp"
#include "fault/postgres_transactions.hpp"

#include <string>
#include <vector>

namespace mortise::fault {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

constexpr const char* minute = "60000000";

/// What begin_key() is told.
struct Asked {
  std::string key = "a";
  std::string me = "\\x01";
  std::string lease = minute;
  std::string how = "16";
  std::string fingerprint = "f";
  Repeat repeat = Repeat::after_failure;
  std::string keep = minute;
};

class PostgresKeys : public PostgresTransactions {
 protected:
  /// @return the answer, in escape format.
  static std::string begin(PostgresTalk& talk, const Asked& asked = {}) {
    return talk.value(
        "select encode(mortise.begin_key($1, $2, $3, 'label', $4, $5, $6, $7), 'escape')",
        {asked.key, asked.me, asked.lease, asked.how, asked.fingerprint,
         std::to_string(static_cast<int>(asked.repeat)), asked.keep});
  }
  static std::string conclude(PostgresTalk& talk, const std::string& number,
                              const std::string& bytes, const std::string& me = "\\x01",
                              bool succeeds = true, const std::string& keep = minute) {
    return talk.value("select mortise.conclude_key('a', $1, $2, 17, $3, $4, $5)",
                      {me, number, succeeds ? "t" : "f", bytes, keep});
  }
  static bool conclude_in(PostgresTalk& talk, const std::string& number,
                          const std::string& bytes = "result") {
    return talk.value("select mortise.conclude_in('a', '\\x01', $1, true, $2, 60000000)",
                      {number, bytes}) == "t";
  }
  /// @return the number of the grant that an answer tells of.
  static std::string number_in(const std::string& answer) {
    EXPECT_THAT(answer, StartsWith("G "));
    return answer.substr(2, answer.find(' ', 2) - 2);
  }
  std::string renew(const std::string& number) {
    return server().user().value(
        "select mortise.renew_run(array['a'::bytea], array['\\x01'::bytea], array[$1::bigint],"
        " array[60000000])",
        {number});
  }
  std::string state() { return see("select state from mortise.once where key = 'a'"); }
  void lapse() {
    server().talk().run("update mortise.run set expires_at = clock_timestamp() where name = 'a'");
  }
};

class PostgresConclusions : public PostgresKeys {};

TEST_F(PostgresKeys, AreJudgedAsTheLibraryJudges) {
  PostgresTalk talk = server().talk();
  for (const KeyState state :
       {KeyState::absent, KeyState::pending, KeyState::succeeded, KeyState::failed}) {
    for (const Repeat repeat : {Repeat::after_failure, Repeat::never, Repeat::always}) {
      for (const bool held : {false, true}) {
        for (const bool same : {true, false}) {
          const mortise::Record record{.state = state, .fingerprint = "f", .held = held};
          const mortise::Memory asked{.fingerprint = same ? "f" : "g", .repeat = repeat};
          const std::string letter(1, "-PYF"[static_cast<std::size_t>(state)]);
          const std::string verdict = talk.value("select mortise.judge($1, true, $2, 'f', $3, $4)",
                                                 {letter, held ? "t" : "f", asked.fingerprint,
                                                  std::to_string(static_cast<int>(repeat))});
          // An absent key that is held: take_row() finds that.
          const bool absent = state == KeyState::absent;
          const std::string expected = [&]() -> std::string {
            switch (core::judge(asked, record)) {
              case core::Verdict::run: return absent ? "0" : "+";
              case core::Verdict::wait: return absent ? "0" : "W";
              case core::Verdict::replay: return "R";
              case core::Verdict::mismatch: return "M";
            }
            return "";
          }();
          EXPECT_EQ(verdict, expected) << letter << held << same << static_cast<int>(repeat);
        }
      }
    }
  }
}

TEST_F(PostgresKeys, AreNoNamesOfLocks) {
  PostgresTalk talk = server().user();
  EXPECT_THAT(talk.value("select mortise.take('a', '\\x07', 60000000, '', 16)"), Not(IsEmpty()));
  EXPECT_THAT(begin(talk), EndsWith(" 1"));
  EXPECT_EQ(talk.value("select count(*) from mortise.lock"), "1");
}

TEST_F(PostgresKeys, CountRunsAndAreTheSameRunWhenAskedAgain) {
  PostgresTalk talk = server().user();
  const std::string first = begin(talk);
  EXPECT_EQ(number_in(begin(talk)), number_in(first));
  EXPECT_THAT(begin(talk), EndsWith(" 1"));
  lapse();
  const std::string second = begin(talk, {.me = "\\x02"});
  EXPECT_THAT(second, EndsWith(" 2"));
  EXPECT_GT(number_in(second), number_in(first));
  EXPECT_EQ(conclude(talk, number_in(first), "late"), "N");
  EXPECT_EQ(state(), "P");
  EXPECT_EQ(conclude(talk, number_in(second), "why", "\\x02", false), "F");
  EXPECT_THAT(begin(talk, {.me = "\\x03"}), EndsWith(" 3"));
}

TEST_F(PostgresKeys, AreConcludedByTheLiveHoldAndFoundConcludedAgain) {
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk));
  EXPECT_EQ(conclude(talk, number, "other", "\\x02"), "N");
  EXPECT_EQ(conclude(talk, number, "result"), "F");
  EXPECT_EQ(conclude(talk, number, "result"), "A");
  EXPECT_EQ(conclude(talk, number, "failed after all", "\\x01", false), "N");
  EXPECT_EQ(see("select encode(bytes, 'escape') from mortise.once"), "result");
  lapse();
  EXPECT_EQ(conclude(talk, number, "result"), "F") << "it stands";
}

TEST_F(PostgresKeys, OfALapsedHoldAreNotConcluded) {
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk));
  lapse();
  EXPECT_EQ(conclude(talk, number, "result"), "X");
  EXPECT_EQ(state(), "P");
  EXPECT_EQ(conclude(talk, number, "result"), "N") << "freed, and nothing of it recorded";
}

TEST_F(PostgresKeys, RefuseALateCopyOfARequest) {
  PostgresTalk talk = server().user();
  // The second copy says that there may be an older one.
  const std::string number = number_in(begin(talk, {.how = "36"}));
  EXPECT_EQ(conclude(talk, number, "result"), "F");
  EXPECT_EQ(begin(talk, {.how = "16", .repeat = Repeat::always}), "R");
  // And one that is told what is remembered takes nothing later, when that is forgotten.
  EXPECT_THAT(begin(talk, {.me = "\\x02", .how = "36"}), EndsWith("fresult"));
  talk.value("select mortise.forget_key('a', $1)", {number});
  EXPECT_EQ(begin(talk, {.me = "\\x02", .how = "16"}), "R");
  EXPECT_THAT(begin(talk, {.me = "\\x03"}), EndsWith(" 1"));
}

TEST_F(PostgresKeys, AreNotForgottenByARequestThatComesLate) {
  PostgresTalk talk = server().user();
  const std::string first = number_in(begin(talk));
  EXPECT_EQ(conclude(talk, first, "why", "\\x01", false), "F");
  const std::string second = number_in(begin(talk, {.me = "\\x02"}));
  EXPECT_EQ(conclude(talk, second, "result", "\\x02"), "F");
  // It is told what is there, so that it can be said again.
  EXPECT_THAT(talk.value("select encode(mortise.forget_key('a', $1), 'escape')", {first}),
              EndsWith("fresult"));
  EXPECT_EQ(state(), "Y");
  talk.value("select mortise.forget_key('a', $1)", {second});
  EXPECT_EQ(state(), "-");
}

TEST_F(PostgresKeys, OfOneThatWasTakenBackHaveARecordToBeSweptBy) {
  PostgresTalk talk = server().user();
  EXPECT_EQ(talk.value("select mortise.cancel_key('a', '\\x01', 37)"), "B");
  EXPECT_EQ(see("select count(*) from mortise.run"), "1") << "the grave";
  EXPECT_EQ(state(), "-");
  EXPECT_EQ(begin(talk, {.how = "16"}), "R");
  // Its grave is kept for five minutes.
  server().talk().run("select mortise.sweep_keys()");
  EXPECT_EQ(see("select count(*) from mortise.run"), "1");
  server().talk().run(
      "update mortise.run set buried = '{\"01\": [3, 1]}';"
      "update mortise.once set kept_until = clock_timestamp(); select mortise.sweep_keys()");
  EXPECT_EQ(see("select count(*) from mortise.run"), "0");
  EXPECT_EQ(see("select count(*) from mortise.once"), "0");
}

TEST_F(PostgresKeys, GrowTheirNumbersAlsoWhenTheyWereRemoved) {
  PostgresTalk talk = server().user();
  static_cast<void>(begin(talk));
  server().talk().run(
      "update mortise.run set number = 4102444800000000, expires_at = '-infinity';"
      "update mortise.once set number = 4102444800000000, kept_until = clock_timestamp();"
      "select mortise.sweep_keys()");
  ASSERT_EQ(see("select count(*) from mortise.run"), "0");
  EXPECT_EQ(number_in(begin(talk)), "4102444800000001");
}

TEST_F(PostgresKeys, WhoseTimeIsOverAreRemovedByThoseWhoCome) {
  PostgresTalk talk = server().user();
  for (int each = 0; each < 300; ++each) {
    const std::string key = "k" + std::to_string(each);
    const std::string number = number_in(begin(talk, {.key = key, .keep = "1"}));
    EXPECT_EQ(
        talk.value("select mortise.conclude_key($1, '\\x01', $2, 17, true, 'r', 1)", {key, number}),
        "F");
  }
  EXPECT_LE(std::stoi(see("select count(*) from mortise.once")), 2);
  EXPECT_LE(std::stoi(see("select count(*) from mortise.run")), 2);
}

TEST_F(PostgresKeys, ThatAreRunAreKeptForAsLong) {
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk, {.keep = "1"}));
  for (int each = 0; each < 20; ++each) {
    static_cast<void>(begin(talk, {.key = "k" + std::to_string(each)}));
  }
  EXPECT_EQ(state(), "P");
  EXPECT_EQ(see("select count(*) from mortise.once where kept_until <= clock_timestamp()"), "0")
      << "the sweeps would meet it each time";
  EXPECT_EQ(conclude(talk, number, "result"), "F");
}

// A sweep waits for nobody, and passes over what somebody is about to conclude.
TEST_F(PostgresKeys, ThatATransactionHasAreNotSwept) {
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk));
  PostgresTalk user = server().user();
  user.run("begin");
  ASSERT_TRUE(conclude_in(user, number));
  server().talk().run(
      "update mortise.run set expires_at = '-infinity'; set lock_timeout = '1s';"
      "set enable_seqscan = off; select mortise.sweep_keys()");
  EXPECT_EQ(begin(talk, {.me = "\\x02"}), "L");
  EXPECT_EQ(talk.value("select encode(mortise.forget_key('a', $1), 'escape')", {number}), "L");
  user.run("commit");
  EXPECT_THAT(begin(talk, {.me = "\\x02"}), EndsWith("fresult"));
}

TEST_F(PostgresKeys, AreSeenByOperators) {
  PostgresTalk talk = server().user();
  static_cast<void>(begin(talk, {.key = "caf\xc3\xa9"}));
  const auto rows = talk.rows(
      "select key, state, run, runner, lease_left > interval '50 s', age < interval '10 s'"
      " from mortise.once_keys");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0], (test::PostgresRow{"caf\\303\\251", "P", "1", "label", "t", "t"}));
}

TEST_P(PostgresConclusions, CommitWithTheEffectAndNotWithoutIt) {
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk));
  PostgresTalk user = server().user();
  user.run(PostgresTransactions::begin());
  user.run("update orders set charged = 1");
  ASSERT_TRUE(conclude_in(user, number));
  EXPECT_EQ(renew(number), "1") << "renewals go on";
  // Nobody takes it, and nobody is told of it, before it is committed.
  EXPECT_THAT(begin(talk, {.me = "\\x02", .how = "17"}), StartsWith("Q "));
  user.run("rollback");
  EXPECT_EQ(state(), "P");
  user.run(PostgresTransactions::begin());
  user.run("update orders set charged = 1");
  ASSERT_TRUE(conclude_in(user, number));
  user.run("commit");
  EXPECT_EQ(charged(), "1");
  // At once, although the key is not freed yet.
  EXPECT_THAT(begin(talk, {.me = "\\x02"}), EndsWith("fresult"));
  EXPECT_EQ(conclude(talk, number, "result"), "T") << "somebody waits";
  EXPECT_EQ(see("select expires_at = '-infinity' from mortise.run"), "t");
}

TEST_P(PostgresConclusions, AreNotKeptUpByRenewals) {
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk, {.lease = "400000"}));
  PostgresTalk user = server().user();
  user.run(PostgresTransactions::begin());
  user.run("update orders set charged = 1");
  EXPECT_EQ(renew(number), "1");
  std::this_thread::sleep_for(500ms);  // the snapshot's lease is over
  EXPECT_TRUE(conclude_in(user, number));
  user.run("commit");
  EXPECT_EQ(state(), "Y");
}

TEST_P(PostgresConclusions, OfALapsedHoldAreRefused) {
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk, {.lease = "200000"}));
  PostgresTalk user = server().user();
  user.run(PostgresTransactions::begin());
  user.run("update orders set charged = 1");
  std::this_thread::sleep_for(300ms);
  EXPECT_FALSE(conclude_in(user, number));
  user.run("rollback");
  EXPECT_EQ(state(), "P");
}

TEST_P(PostgresConclusions, OfOneThatWasReplacedAreRefused) {
  for (const bool before : {true, false}) {
    PostgresTalk talk = server().user();
    server().talk().run("delete from mortise.run; delete from mortise.once");
    const std::string number = number_in(begin(talk));
    PostgresTalk user = server().user();
    const auto replace = [&] {
      lapse();
      EXPECT_THAT(begin(talk, {.me = "\\x02"}), EndsWith(" 2"));
    };
    if (before) replace();
    user.run(PostgresTransactions::begin());
    user.run("update orders set charged = 1");
    if (!before) replace();
    try {
      EXPECT_FALSE(conclude_in(user, number)) << before;
    } catch (const PostgresTalkError& error) {
      EXPECT_FALSE(before || is_read_committed());
      EXPECT_EQ(error.state(), "40001") << error.what();
    }
    user.run("rollback");
    EXPECT_EQ(state(), "P");
  }
}

TEST_P(PostgresConclusions, OfATransactionThatIsOlderThanTheRunHaveToBeTriedAgain) {
  PostgresTalk user = server().user();
  user.run(PostgresTransactions::begin());
  user.run("update orders set charged = 1");
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk));
  if (is_read_committed()) {
    EXPECT_TRUE(conclude_in(user, number));
    return;
  }
  EXPECT_EQ(
      user.refusal("select mortise.conclude_in('a', '\\x01', $1, true, '', 60000000)", {number}),
      "40001");
}

// The library's release waits for nobody, and finds what the transaction has decided.
TEST_P(PostgresConclusions, AreNotOvertakenByTheRelease) {
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk));
  PostgresTalk user = server().user();
  user.run(PostgresTransactions::begin());
  ASSERT_TRUE(conclude_in(user, number));
  EXPECT_EQ(conclude(talk, number, "another"), "L");
  user.run("commit");
  EXPECT_EQ(conclude(talk, number, "another"), "F");
  EXPECT_EQ(see("select encode(bytes, 'escape') from mortise.once"), "result");
}

TEST_P(PostgresConclusions, AreNotMadeTwice) {
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk));
  PostgresTalk user = server().user();
  user.run(PostgresTransactions::begin());
  ASSERT_TRUE(conclude_in(user, number));
  EXPECT_EQ(
      user.refusal("select mortise.conclude_in('a', '\\x01', $1, true, '', 60000000)", {number}),
      "55000");
}

INSTANTIATE_TEST_SUITE_P(At, PostgresConclusions, isolation_levels(), isolation_level_of);

}  // namespace
}  // namespace mortise::fault
