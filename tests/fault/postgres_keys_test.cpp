// SPDX-License-Identifier: MIT
// Goal: the functions of keys decide as the library says, keep apart what has to be apart, and
// leave nothing behind for ever. Method: they are called as the library calls them, by sessions of
// the test's own, which are also late, dead or in a transaction.
#include "fault/postgres_keys.hpp"

#include "core/verdict.hpp"

#include <future>
#include <string>

namespace mortise::fault {
namespace {

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
  EXPECT_THAT(talk.value("select mortise.take('a', '\\x07', 60000000, '', 0, '', 'infinity')"),
              Not(IsEmpty()));
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
  EXPECT_EQ(conclude(talk, number, "failed after all", "\\x01", false), "S");
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

// Promise: S5
TEST_F(PostgresKeys, AreNotTakenByARequestThatComesAfterItsMoment) {
  PostgresTalk talk = server().user();
  EXPECT_EQ(begin(talk, {.void_after = "2020-01-01"}), "V");
  EXPECT_EQ(see("select count(*) from mortise.once"), "0");
  const std::string number = number_in(begin(talk));
  EXPECT_EQ(conclude(talk, number, "result"), "F");
  EXPECT_EQ(begin(talk, {.me = "\\x02", .repeat = Repeat::always, .void_after = "2020-01-01"}),
            "V");
  EXPECT_EQ(state(), "Y");
}

// A request that comes late, and before its moment, begins a run that no client knows of.
// Promise: S5
TEST_F(PostgresKeys, HaveTheirOutcomeBackWhenARunThatNobodyKnowsOfIsUndone) {
  PostgresTalk talk = server().user();
  const std::string first = number_in(begin(talk));
  EXPECT_EQ(conclude(talk, first, "result"), "F");
  const std::string late = begin(talk, {.me = "\\x04", .repeat = Repeat::always});
  EXPECT_THAT(late, EndsWith(" 2"));
  EXPECT_EQ(state(), "P");
  EXPECT_EQ(talk.value("select mortise.release_key('a', '\\x04', $1, true)", {number_in(late)}),
            "F");
  EXPECT_THAT(begin(talk, {.me = "\\x02"}), EndsWith("fresult"));
  EXPECT_EQ(see("select run || ' ' || number from mortise.once"), "1 " + first);
  // Its lease may be over by then.
  const std::string lapsed = begin(talk, {.me = "\\x05", .repeat = Repeat::always});
  lapse();
  EXPECT_EQ(talk.value("select mortise.release_key('a', '\\x05', $1, true)", {number_in(lapsed)}),
            "X");
  EXPECT_THAT(begin(talk, {.me = "\\x02"}), EndsWith("fresult"));
  // A run that its own client gives back leaves the key pending.
  const std::string given_back = begin(talk, {.me = "\\x03", .repeat = Repeat::always});
  EXPECT_EQ(
      talk.value("select mortise.release_key('a', '\\x03', $1, false)", {number_in(given_back)}),
      "F");
  EXPECT_EQ(state(), "P");
}

// The server could not be reached for longer than the lease of a run that no client knows of.
// Promise: O4
TEST_F(PostgresKeys, HaveTheirOutcomeBackIfALookFindsAnUnknownRunWhoseLeaseIsOver) {
  PostgresTalk talk = server().user();
  const auto look = [&](const std::string& known) {
    return talk.value("select mortise.cancel_key('a', '\\x04', true, $1)", {known});
  };
  const std::string first = number_in(begin(talk));
  EXPECT_EQ(conclude(talk, first, "result"), "F");
  const std::string late = number_in(begin(talk, {.me = "\\x04", .repeat = Repeat::always}));
  EXPECT_THAT(look("0"), StartsWith("G")) << "the client gives it back";
  lapse();
  EXPECT_EQ(look("-1"), "B");
  EXPECT_EQ(look(late), "B");
  EXPECT_EQ(state(), "P") << "its client may have run it";
  EXPECT_EQ(look("0"), "B");
  EXPECT_EQ(state(), "Y");
  EXPECT_THAT(begin(talk, {.me = "\\x02"}), EndsWith("fresult"));
}

// Promise: O4
TEST_F(PostgresKeys, AreAbsentAgainWhenTheirFirstRunIsUndone) {
  PostgresTalk talk = server().user();
  const std::string late = begin(talk);
  EXPECT_EQ(talk.value("select mortise.release_key('a', '\\x01', $1, true)", {number_in(late)}),
            "F");
  EXPECT_EQ(state(), "-");
  const std::string first = begin(talk, {.me = "\\x02"});
  EXPECT_THAT(first, EndsWith(" 1"));
  EXPECT_GT(number_in(first), number_in(late));
}

// A copy of the request that began the run comes after the conclusion, and before its moment.
// Promise: O3
TEST_F(PostgresKeys, KeepTheirOutcomeIfTheirLastRunnerAsksAgain) {
  PostgresTalk talk = server().user();
  const std::string first = number_in(begin(talk, {.repeat = Repeat::always}));
  EXPECT_EQ(conclude(talk, first, "result"), "F");
  EXPECT_THAT(begin(talk, {.repeat = Repeat::always}), EndsWith("fresult"));
  EXPECT_EQ(state(), "Y");
  EXPECT_EQ(conclude(talk, first, "result"), "A");
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
  EXPECT_EQ(talk.value("select mortise.cancel_key('a', '\\x01', false, 0)"), "B");
  EXPECT_EQ(see("select count(*) from mortise.run"), "0");
  EXPECT_EQ(talk.value("select mortise.cancel_key('a', '\\x01', true, 0)"), "B");
  EXPECT_EQ(see("select count(*) from mortise.run"), "1") << "it waits for those who insert it";
  EXPECT_EQ(state(), "-");
  server().talk().run("select mortise.sweep_keys()");
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
    EXPECT_EQ(talk.value("select mortise.conclude_key($1, '\\x01', $2, false, true, 'r', 1)",
                         {key, number}),
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

// What vacuum may not remove yet is passed once by each session, and not by each key that comes.
TEST_F(PostgresKeys, ThatAreRemovedUnderAnOldSnapshotCostTheNextOnesNothing) {
  constexpr int many = 2000;
  PostgresTalk talk = server().talk();
  talk.run("set enable_seqscan = off; set enable_bitmapscan = off; set jit = off");
  PostgresTalk old = server().user();
  old.run("begin isolation level repeatable read; select 1");
  talk.run(
      "insert into mortise.run (name, number, attempt, lease, expires_at, label)"
      " select convert_to('old' || i, 'UTF8'), i, '', 0, '-infinity', ''"
      "   from generate_series(1, 2000) as i;"
      "insert into mortise.once select name, 'Y', 1, number, clock_timestamp(), '', ''"
      "   from mortise.run");
  const auto floor = [&] {
    return talk.value("select ctid from mortise.run_floor where place = 1");
  };
  static_cast<void>(begin(talk, {.key = "new"}));
  const std::string written = floor();
  for (int each = 0; each < many / 16; ++each) {
    static_cast<void>(begin(talk, {.key = "new" + std::to_string(each)}));
  }
  ASSERT_EQ(see("select count(*) from mortise.once where key < 'new'"), "0");
  talk.run("begin");
  const auto passed = [&] {
    return std::stoi(
        talk.value("select pg_stat_get_xact_tuples_returned('mortise.once_kept_until'::regclass)"));
  };
  const int before = passed();
  EXPECT_THAT(begin(talk, {.key = "one more"}), EndsWith(" 1"));
  EXPECT_LT(passed() - before, 100);
  EXPECT_EQ(floor(), written) << "written more than once";
  talk.run("commit");
}

// Rows that come with an end before the one that a session has got to: by a transaction that took
// long, or a clock that was set back.
TEST_F(PostgresKeys, WhoseEndLiesBehindAreRemovedWithinAMinute) {
  PostgresTalk talk = server().talk();
  int hours = 0;
  // Each of them before all others.
  const auto leave = [&] {
    const std::string ago = std::to_string(++hours) + " hours";
    static_cast<void>(
        server().talk().rows("insert into mortise.once values (convert_to($1, 'UTF8'), 'Y', 1, 1,"
                             " clock_timestamp() - $1::interval, '', '')",
                             {ago}));
  };
  const auto left = [&] { return see("select count(*) from mortise.once where number = 1"); };
  leave();
  static_cast<void>(begin(talk, {.key = "a"}));
  EXPECT_EQ(left(), "0");
  leave();
  static_cast<void>(begin(talk, {.key = "b"}));
  EXPECT_EQ(left(), "1");
  for (const std::string later : {"- 60000000", "+ 3600000000"}) {
    // A minute later; and as if the clock had been set back.
    talk.run("select set_config('mortise.swept', (split_part(mark, ' ', 1)::bigint " + later +
             ") || ' ' || split_part(mark, ' ', 2), false)"
             " from current_setting('mortise.swept') as mark");
    static_cast<void>(begin(talk, {.key = "c" + later}));
    EXPECT_EQ(left(), "0") << later;
    leave();
  }
}

// What is remembered and who runs it are seen at one moment. Method: whoever has the table for
// itself stops everybody else before the first statement that reads it.
TEST_F(PostgresKeys, AreNotToldOfWhatWasForgottenSince) {
  PostgresTalk talk = server().user();
  const std::string number = number_in(begin(talk));
  EXPECT_EQ(conclude(talk, number, "result", "\\x01", true, "1"), "F");
  std::future<std::string> told;
  PostgresTalk other = server().talk();
  other.run("begin; lock table mortise.run in access exclusive mode");
  told = std::async(std::launch::async, [&] { return begin(talk, {.me = "\\x02", .how = "1"}); });
  ASSERT_TRUE(
      eventually([&] { return see("select count(*) from pg_locks where not granted") == "1"; }));
  // Its time is over, and somebody else runs it.
  other.run(
      "update mortise.run set number = number + 1, attempt = '\\x03',"
      "  expires_at = clock_timestamp() + interval '1 minute';"
      "update mortise.once set number = number + 1, state = 'P', bytes = '',"
      "  kept_until = clock_timestamp() + interval '1 minute'; commit");
  EXPECT_THAT(told.get(), StartsWith("Q "));
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

// Whoever died with a ticket, or still has one, keeps nobody from the news who waits without.
TEST_F(PostgresKeys, ThatAreConcludedAreToldToEverybodyWhoWaits) {
  PostgresTalk talk = server().user();
  PostgresTalk listener = server().user();
  listener.run("listen mortise");
  for (const std::string asked : {"10 minutes", "0 s"}) {
    const std::string me = asked == "0 s" ? "\\x01" : "\\x04";
    const std::string number =
        number_in(begin(talk, {.me = me, .how = "0", .repeat = Repeat::always}));
    EXPECT_THAT(begin(talk, {.me = "\\x02", .how = "1"}), StartsWith("Q "));
    server().talk().run(
        "delete from mortise.run_ticket; insert into mortise.run_ticket (name, attempt, contact)"
        " values ('a', '\\x03', clock_timestamp() - interval '" +
        asked + "')");
    EXPECT_EQ(conclude(talk, number, "result", me), "T");
    talk.run("select mortise.wake_run(array['a'::bytea])");
    EXPECT_EQ(listener.notification(patience), "key 61") << asked;
  }
}

// Nobody may wait for it ever again.
TEST_F(PostgresKeys, ThatAreConcludedKeepNoTicketOfTheDead) {
  PostgresTalk talk = server().user();
  for (const std::string letter : {"F", "T"}) {
    const std::string me = letter == "F" ? "\\x01" : "\\x04";
    const std::string number = number_in(begin(talk, {.me = me, .repeat = Repeat::always}));
    for (const char* waiter : {"\\x02", "\\x03"}) {
      EXPECT_THAT(begin(talk, {.me = waiter, .how = "3"}), StartsWith("Q "));
    }
    server().talk().run(
        "update mortise.run_ticket set contact = contact - interval '4 seconds'"
        " where attempt = '\\x02'");
    if (letter == "F") server().talk().run("update mortise.run set waiters_until = 'epoch'");
    EXPECT_EQ(conclude(talk, number, "result", me), letter);
    EXPECT_EQ(see("select string_agg(attempt::text, ' ') from mortise.run_ticket"), "\\x03");
  }
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

}  // namespace
}  // namespace mortise::fault
