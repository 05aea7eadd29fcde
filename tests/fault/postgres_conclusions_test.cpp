// SPDX-License-Identifier: MIT
// Goal: what a transaction of a user's own concludes is recorded with it or not at all, whatever
// the library's own statements, waiters and others do meanwhile, at every isolation level. Method:
// the functions of keys are called as the library calls them, in between.
#include "fault/postgres_keys.hpp"

#include <future>
#include <string>
#include <thread>

namespace mortise::fault {
namespace {

class PostgresConclusions : public PostgresKeys {
 protected:
  static std::string confirm(PostgresTalk& talk, const std::string& number,
                             const std::string& keep = minute) {
    return talk.value("select mortise.conclude_key('a', '\\x01', $1, true, true, 'result', $2)",
                      {number, keep});
  }
  /// Waits until so much time has passed by the server's clock.
  static void pass(PostgresTalk& talk, const std::string& time) {
    const std::string then = talk.value("select clock_timestamp()");
    ASSERT_TRUE(eventually([&] {
      return talk.value("select clock_timestamp() > $1::timestamptz + $2::interval",
                        {then, time}) == "t";
    }));
  }
  /// Concludes it in a transaction that takes longer than the outcome is kept.
  void conclude_slowly(const std::string& number, const std::string& keep) {
    PostgresTalk user = server().user();
    user.run(PostgresTransactions::begin());
    ASSERT_EQ(user.value("select mortise.conclude_in('a', '\\x01', $1, true, 'result', $2)",
                         {number, keep}),
              "t");
    pass(user, keep + " microseconds");
    user.run("commit");
  }
};

TEST_P(PostgresConclusions, CommitWithTheEffectAndNotWithoutIt) {
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk));
  PostgresTalk user = server().user();
  user.run(PostgresTransactions::begin());
  user.run("update orders set charged = 1");
  ASSERT_TRUE(conclude_in(user, number));
  EXPECT_EQ(renew(number), "1") << "renewals go on";
  // Nobody takes it, and nobody is told of it, before it is committed.
  EXPECT_THAT(begin(talk, {.me = "\\x02", .how = "1"}), StartsWith("Q "));
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
  const std::string number = number_in(begin(talk, {.lease = "1500000"}));
  PostgresTalk user = server().user();
  user.run(PostgresTransactions::begin());
  user.run("update orders set charged = 1");
  EXPECT_EQ(renew(number), "1");
  pass(user, "1.6 s");  // the snapshot's lease is over
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
  pass(talk, "0.3 s");
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
  EXPECT_EQ(conclude(talk, number, "another"), "S") << "it has freed the key, and recorded nothing";
  EXPECT_EQ(conclude(talk, number, "result"), "A");
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

// Somebody has taken the row in between, found the record, and undone that.
TEST_P(PostgresConclusions, AreFoundUnderTheHoldOfAnotherOne) {
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk));
  EXPECT_EQ(conclude(talk, number, "result"), "F");
  server().talk().run(
      "update mortise.run set number = number + 1, attempt = '\\x02', expires_at = '-infinity'");
  EXPECT_EQ(conclude(talk, number, "result"), "A");
}

TEST_P(PostgresConclusions, AreConfirmedOrNotThereAndNeverWritten) {
  PostgresTalk talk = server().user();
  const std::string first = number_in(begin(talk));
  EXPECT_EQ(confirm(talk, first), "X");
  EXPECT_EQ(confirm(talk, first), "X");
  EXPECT_EQ(state(), "P");
  EXPECT_THAT(begin(talk, {.me = "\\x02"}), EndsWith(" 2"));
  EXPECT_EQ(confirm(talk, first), "N");
  lapse();
  const std::string third = number_in(begin(talk));
  PostgresTalk user = server().user();
  user.run(PostgresTransactions::begin());
  ASSERT_TRUE(conclude_in(user, third));
  EXPECT_EQ(confirm(talk, third), "L");
  user.run("commit");
  EXPECT_EQ(confirm(talk, third), "F");
  EXPECT_EQ(confirm(talk, third), "A");
  EXPECT_EQ(see("select encode(bytes, 'escape') from mortise.once"), "result");
}

// Somebody only looks at its row at that moment.
TEST_P(PostgresConclusions, OfALapsedHoldAreRefusedAlsoWhereItsRowIsLocked) {
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk, {.lease = "200000"}));
  PostgresTalk user = server().user();
  user.run(PostgresTransactions::begin());
  user.run("update orders set charged = 1");
  pass(talk, "0.3 s");
  PostgresTalk other = server().talk();
  other.run("begin");
  other.run("select from mortise.run for no key update");
  auto concluded = std::async(std::launch::async, [&] { return conclude_in(user, number); });
  std::this_thread::sleep_for(200ms);
  other.run("rollback");
  EXPECT_FALSE(concluded.get());
  user.run("rollback");
  EXPECT_EQ(state(), "P");
}

// The first that comes to wait writes into the row, and one of them again each 25 s.
TEST_P(PostgresConclusions, AreNotKeptUpByThoseWhoWait) {
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk));
  PostgresTalk user = server().user();
  for (const bool first : {true, false}) {
    user.run(PostgresTransactions::begin());
    user.run("update orders set charged = 1");
    EXPECT_THAT(begin(talk, {.me = "\\x02", .how = "1"}), StartsWith("Q "));
    EXPECT_TRUE(conclude_in(user, number)) << first;
    // Nor do they wait for it.
    EXPECT_THAT(begin(talk, {.me = "\\x03", .how = "1"}), StartsWith("Q "));
    user.run(first ? "rollback" : "commit");
    server().talk().run("update mortise.run set waiters_until = clock_timestamp()");
  }
  EXPECT_THAT(begin(talk, {.me = "\\x02", .how = "1"}), EndsWith("fresult"));
  EXPECT_EQ(confirm(talk, number), "F");
}

// Whoever sweeps writes into its record that it is kept for longer.
TEST_P(PostgresConclusions, OfARunThatTookLongerThanItIsKeptMayHaveToBeTriedAgain) {
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk, {.keep = "1"}));
  PostgresTalk user = server().user();
  user.run(PostgresTransactions::begin());
  user.run("update orders set charged = 1");
  EXPECT_THAT(begin(talk, {.key = "b"}), EndsWith(" 1"));
  if (!is_read_committed()) {
    EXPECT_EQ(
        user.refusal("select mortise.conclude_in('a', '\\x01', $1, true, '', 60000000)", {number}),
        "40001");
    user.run("rollback");
    user.run(PostgresTransactions::begin());
  }
  EXPECT_TRUE(conclude_in(user, number));
  user.run("commit");
  EXPECT_EQ(state(), "Y");
}

// From its commit, however long the transaction took, and for as long as nobody has freed the key.
TEST_P(PostgresConclusions, AreKeptFromTheirFreeing) {
  constexpr const char* keep = "400000";
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk, {.keep = keep}));
  ASSERT_NO_FATAL_FAILURE(conclude_slowly(number, keep));
  const auto next = [&] { return begin(talk, {.me = "\\x02", .keep = keep}); };
  EXPECT_THAT(next(), EndsWith("fresult"));
  // Whoever sweeps passes over it.
  EXPECT_THAT(begin(talk, {.key = "b"}), EndsWith(" 1"));
  EXPECT_THAT(next(), EndsWith("fresult"));
  EXPECT_EQ(see("select count(*) from mortise.once_keys where key = 'a'"), "1");
  EXPECT_EQ(confirm(talk, number, keep), "F");
  EXPECT_THAT(next(), EndsWith("fresult"));
  pass(talk, "0.5 s");
  EXPECT_EQ(confirm(talk, number, keep), "A") << "said again it is not kept for longer";
  EXPECT_THAT(next(), EndsWith(" 1"));
}

// Its process was killed, or stood still; the transaction is committed all the same.
TEST_P(PostgresConclusions, AreKeptFromTheEndOfTheLeaseWhereNobodyFreesThem) {
  constexpr const char* keep = "400000";
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk, {.lease = "10000000", .keep = keep}));
  ASSERT_NO_FATAL_FAILURE(conclude_slowly(number, keep));
  EXPECT_EQ(see("select o.kept_until - l.expires_at = interval '0.4 s'"
                " from mortise.once as o join mortise.run as l on l.name = o.key"),
            "t");
  lapse();
  EXPECT_THAT(begin(talk, {.me = "\\x02", .keep = keep}), EndsWith("fresult"));
}

// It is known to the runner's client by then, and its end is not.
TEST_P(PostgresConclusions, CanBeForgottenThoughNobodyHasFreedThem) {
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk));
  PostgresTalk user = server().user();
  user.run(PostgresTransactions::begin());
  ASSERT_EQ(user.value("select mortise.conclude_in('a', '\\x01', $1, true, 'result', 1)", {number}),
            "t");
  user.run("commit");
  EXPECT_THAT(talk.value("select encode(mortise.forget_key('a', $1), 'escape')", {number}),
              EndsWith("fresult"));
  EXPECT_EQ(state(), "-");
  EXPECT_EQ(confirm(talk, number), "N");
}

// Also where the tables are so small that a plan of the session's own would read them as a whole.
TEST_P(PostgresConclusions, OfOtherKeysAreNotInTheWay) {
  PostgresTalk talk = server().user();
  static_cast<void>(begin(talk, {.key = "c"}));
  server().talk().run("vacuum analyze mortise.once");
  server().talk().run("vacuum analyze mortise.run");
  const std::string conclude_its =
      "select mortise.conclude_in($1, '\\x01', $2, true, 'result', 60000000)";
  const std::string first = number_in(begin(talk));
  const std::string second = number_in(begin(talk, {.key = "b"}));
  PostgresTalk user = server().user();
  PostgresTalk other = server().user();
  user.run(PostgresTransactions::begin());
  other.run(PostgresTransactions::begin());
  EXPECT_EQ(user.value(conclude_its, {"a", first}), "t");
  EXPECT_EQ(other.value(conclude_its, {"b", second}), "t");
  user.run("commit");
  other.run("commit");
  EXPECT_EQ(see("select count(*) from mortise.once where state = 'Y'"), "2");
}

INSTANTIATE_TEST_SUITE_P(At, PostgresConclusions, isolation_levels(), isolation_level_of);

}  // namespace
}  // namespace mortise::fault
