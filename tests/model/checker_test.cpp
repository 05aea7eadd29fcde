// SPDX-License-Identifier: MIT
// Goal: the checker catches each kind of violation and names the two culprits, and raises no alarm
// over a history that anything could explain. Method: histories written by hand, each fault beside
// the nearest history without it.
#include "model/checker.hpp"

#include "model/script.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace mortise::model {
namespace {

constexpr Script::Client alice{1, 0};
constexpr Script::Client bob{2, 3};
constexpr Script::Client carol{4, 1};

Report judge(const Script& script) { return check(script.events()); }

#define MORTISE_EXPECT_GOOD(script) EXPECT_TRUE(judge(script).ok()) << judge(script).text()

// Exactly one violation, of this kind, between these two holds.
void expect_one(const Report& report, Fault fault, std::uint64_t first_op,
                std::uint64_t second_op) {
  ASSERT_EQ(report.faults, 1U) << report.text();
  EXPECT_TRUE(report.has(fault)) << report.text();
  EXPECT_EQ(report.violations[0].first.op, first_op) << report.text();
  EXPECT_EQ(report.violations[0].second.op, second_op) << report.text();
}

void expect_malformed(const Script& script, const std::string& why) {
  const Report report = judge(script);
  EXPECT_TRUE(report.has(Fault::malformed)) << why;
  EXPECT_NE(report.text().find(why), std::string::npos) << report.text();
}

TEST(Checker, PassesNothingAndHoldsInTurn) {
  Script script;
  MORTISE_EXPECT_GOOD(script);
  const auto first = script.acquire(alice, 0, 10, 100, 110);
  script.release(first, 200, 210);
  const auto second = script.acquire(bob, 0, 11, 150, 205);
  script.release(second, 300, 310);
  script.acquire(carol, 1, 5, 120, 130);  // another name, never released
  MORTISE_EXPECT_GOOD(script);
  const Counts counts = judge(script).counts;
  EXPECT_EQ(counts.events, 10U);
  EXPECT_EQ(counts.granted, 3U);
  EXPECT_EQ(counts.names, 2U);
  EXPECT_EQ(counts.processes, 3U);
  EXPECT_EQ(counts.releases, 2U);
}

TEST(Checker, NamesBothHoldsOfAnOverlap) {
  Script script;
  const auto first = script.acquire(alice, 0, 10, 1'000'000'000, 1'100'000'000);
  script.release(first, 3'000'000'000, 3'100'000'000);
  const auto second = script.acquire(bob, 0, 11, 1'500'000'000, 2'000'000'000);
  script.release(second, 4'000'000'000, 4'100'000'000);
  const Report report = check(script.events(), {.names = {"orders/42"}});
  expect_one(report, Fault::overlap, first.op, second.op);
  EXPECT_EQ(report.violations[0].sentence,
            "\"orders/42\": two holds overlap: process 1 (pid 1001) owner 0 got token 10 between "
            "+0.000000000 s and +0.100000000 s (op 1) and held it until its release was sent at "
            "+2.000000000 s; but process 2 (pid 1002) owner 3 got token 11 between +0.500000000 s "
            "and +1.000000000 s (op 3) and held it until its release was sent at +3.000000000 s");
}

TEST(Checker, AllowsAGrantAtTheVeryInstantOfTheRelease) {
  Script script;
  script.release(script.acquire(alice, 0, 10, 100, 110), 200, 210);
  script.acquire(bob, 0, 11, 150, 200);
  MORTISE_EXPECT_GOOD(script);
  Script late;
  const auto first = late.acquire(alice, 0, 10, 100, 110);
  late.release(first, 201, 210);
  const auto second = late.acquire(bob, 0, 11, 150, 200);
  expect_one(judge(late), Fault::overlap, first.op, second.op);
}

TEST(Checker, FindsTheCulpritBehindTheNeighbour) {
  Script script;
  const auto stuck = script.acquire(alice, 0, 1, 100, 110);
  script.release(stuck, 900, 910);
  // Fits after it, by itself, and would fit before the next: it lapsed at once.
  script.acquire(carol, 0, 2, 105, 905, 200);
  MORTISE_EXPECT_GOOD(script);
  const auto early = script.acquire(bob, 0, 3, 300, 310);
  expect_one(judge(script), Fault::overlap, stuck.op, early.op);
}

TEST(Checker, CatchesTokensThatGoBackwards) {
  Script script;
  const auto first = script.acquire(alice, 0, 20, 100, 110);
  script.release(first, 120, 130);
  const auto second = script.acquire(bob, 0, 19, 200, 210);
  script.release(second, 220, 230);
  expect_one(judge(script), Fault::token_backwards, first.op, second.op);
  EXPECT_NE(judge(script).text().find("tokens went backwards: process 1"), std::string::npos);
}

TEST(Checker, CatchesSwappedTokensEvenWhereTheWindowsOverlap) {
  Script script;
  const auto wide = script.acquire(alice, 0, 1, 100, 500);
  script.release(wide, 600, 610);
  const auto narrow = script.acquire(bob, 0, 2, 200, 210);
  script.release(narrow, 220, 230);
  expect_one(judge(script), Fault::token_backwards, narrow.op, wide.op);

  // To the last instant: had it been held beyond 500, neither order would be possible.
  for (const std::int64_t sent : {500, 501}) {
    Script edge;
    edge.release(edge.acquire(alice, 0, 1, 100, 500), 600, 610);
    edge.release(edge.acquire(bob, 0, 2, 200, 210), sent, 510);
    EXPECT_EQ(judge(edge).violations.at(0).fault,
              sent == 500 ? Fault::token_backwards : Fault::overlap);
  }

  Script right;  // the same, with the tokens the other way round
  right.release(right.acquire(alice, 0, 2, 100, 500), 600, 610);
  right.release(right.acquire(bob, 0, 1, 200, 210), 220, 230);
  MORTISE_EXPECT_GOOD(right);
}

TEST(Checker, CatchesATokenThatRestarts) {
  Script script;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const std::uint64_t token = i < 5 ? 100 + i : i - 4;  // 100 ... 104, then 1 ... 5
    const auto time = static_cast<std::int64_t>(100 * i);
    script.release(script.acquire(alice, 0, token, time, time + 10), time + 50, time + 60);
  }
  const Report report = judge(script);
  EXPECT_EQ(report.faults, 5U) << report.text();
  EXPECT_TRUE(std::all_of(
      report.violations.begin(), report.violations.end(),
      [](const Violation& violation) { return violation.fault == Fault::token_backwards; }));
}

TEST(Checker, CatchesATokenThatIsGivenTwice) {
  Script script;
  const auto first = script.acquire(alice, 0, 7, 100, 110);
  script.release(first, 120, 130);
  script.release(script.acquire(carol, 1, 7, 140, 150), 160, 170);  // of another name: none of ours
  const auto second = script.acquire(bob, 0, 7, 200, 210);
  script.release(second, 220, 230);
  expect_one(judge(script), Fault::token_repeated, first.op, second.op);
}

TEST(Checker, CatchesTokensThatAreNone) {
  for (const std::uint64_t token : {std::uint64_t{0}, std::uint64_t{1} << 63}) {
    Script script;
    const auto hold = script.acquire(alice, 0, token, 100, 110);
    script.release(hold, 120, 130);
    expect_one(judge(script), Fault::token_invalid, hold.op, hold.op);
  }
}

TEST(Checker, CatchesADeadlineCountedTooLong) {
  // The server gave the name away at 600. A deadline counted from before the request was sent ends
  // the hold in time; one counted from the reply does not.
  for (const std::int64_t deadline : {600, 610}) {
    Script script;
    const auto stopped = script.acquire(alice, 0, 1, 100, 150, deadline);
    const auto next = script.acquire(bob, 0, 2, 590, 605, 1'100);
    script.release(next, 700, 710);
    script.release(stopped, 2'000, 2'010, Outcome::was_lost);
    if (deadline == 600) {
      MORTISE_EXPECT_GOOD(script);
    } else {
      expect_one(judge(script), Fault::overlap, stopped.op, next.op);
      EXPECT_NE(judge(script).text().find("until its own deadline at"), std::string::npos);
    }
  }
}

TEST(Checker, FollowsTheDeadlineOfTheLastRenewal) {
  Script script;
  const auto first = script.acquire(alice, 0, 1, 100, 110, 600);
  script.renewal(first, 500, 1'000);
  script.renewal(first, 300, 800);  // earlier, though it stands later in the file
  const auto second = script.acquire(bob, 0, 2, 900, 999, 2'000);
  expect_one(judge(script), Fault::overlap, first.op, second.op);

  Script lapsed;
  const auto hold = lapsed.acquire(alice, 0, 1, 100, 110, 600);
  lapsed.renewal(hold, 500, 1'000);
  lapsed.acquire(bob, 0, 2, 900, 1'000, 2'000);
  MORTISE_EXPECT_GOOD(lapsed);
}

TEST(Checker, StoppedHolderEndsAtItsDeadlineAndWithoutOneNever) {
  Script lease;
  lease.acquire(alice, 0, 1, 100, 110, 600);
  lease.acquire(bob, 0, 2, 590, 600, 2'000);
  MORTISE_EXPECT_GOOD(lease);

  Script none;
  const auto stopped = none.acquire(alice, 0, 1, 100, 110);
  const auto next = none.acquire(bob, 0, 2, 1'000'000, 1'000'010);
  expect_one(judge(none), Fault::overlap, stopped.op, next.op);
  EXPECT_NE(judge(none).text().find("never gave it up"), std::string::npos);
}

TEST(Checker, DeathEndsAHoldWithoutLeaseNotBeforeTheSignal) {
  const auto history = [](std::int64_t returned, std::int64_t deadline) {
    Script script;
    script.acquire(alice, 0, 1, 100, 110, deadline);
    script.acquire(bob, 0, 2, 150, returned, deadline == 0 ? 0 : 10'000);
    script.death(alice.process, 500, 600);
    return script;
  };
  MORTISE_EXPECT_GOOD(history(500, 0));
  expect_one(judge(history(499, 0)), Fault::overlap, 1, 2);
  EXPECT_NE(judge(history(499, 0)).text().find("until its process was killed at"),
            std::string::npos);
  // A server that knows leases only cannot know of the death, so it must not give the name away.
  expect_one(judge(history(999, 1'000)), Fault::overlap, 1, 2);
  MORTISE_EXPECT_GOOD(history(1'000, 1'000));
}

TEST(Checker, AKilledProcessLivedAtLeastUntilItsLastEvent) {
  Script script;
  const auto first = script.acquire(alice, 0, 1, 490, 550);  // the signal was on its way
  const auto second = script.acquire(bob, 0, 2, 500, 540);
  script.death(alice.process, 500, 600);
  // Alice may have been granted at 540 or before, and was alive at 550.
  expect_one(judge(script), Fault::overlap, first.op, second.op);
}

TEST(Checker, UnknownOutcomesConstrainNothing) {
  Script script;
  script.open_attempt(alice, 0, 100);                  // killed while it waited
  script.attempt(bob, 0, 100, 120, Outcome::unknown);  // gave up without an answer
  script.attempt(carol, 0, 100, 130, Outcome::fail);   // busy
  const auto hold = script.acquire(bob, 0, 5, 110, 140);
  script.open_release(hold, 300);  // sent, never answered
  script.release(script.acquire(carol, 0, 6, 200, 300), 400, 410, Outcome::unknown);
  script.acquire(bob, 0, 7, 390, 400);
  script.death(alice.process, 105, 106);
  MORTISE_EXPECT_GOOD(script);
  EXPECT_EQ(judge(script).counts.unknown, 2U);
  EXPECT_EQ(judge(script).counts.failed, 1U);

  // And they hide nothing either.
  const auto intruder = script.acquire(carol, 0, 8, 500, 510);
  EXPECT_EQ(judge(script).violations.at(0).second.op, intruder.op);
}

TEST(Checker, AReleaseThatFailedEndsNothing) {
  Script script;
  const auto first = script.acquire(alice, 0, 1, 100, 110);
  script.release(first, 200, 210, Outcome::fail);
  const auto second = script.acquire(bob, 0, 2, 300, 310);
  expect_one(judge(script), Fault::overlap, first.op, second.op);
  script.release(first, 250, 260);
  MORTISE_EXPECT_GOOD(script);
}

TEST(Checker, ToldLossEndsAHoldAndIsExcusedEarlierOnlyIfAskedFor) {
  Script script;
  const auto first = script.acquire(alice, 0, 1, 100, 110, 10'000);
  script.loss(first, 500);
  script.release(first, 700, 710, Outcome::was_lost);
  const auto second = script.acquire(bob, 0, 2, 300, 310, 10'000);
  expect_one(judge(script), Fault::overlap, first.op, second.op);
  EXPECT_TRUE(check(script.events(), {.loss_excuses = true}).ok());

  // A release that does not know may have come too late as well.
  Script doubt;
  const auto doubtful = doubt.acquire(alice, 0, 1, 100, 110, 10'000);
  doubt.release(doubtful, 700, 710, Outcome::unknown);
  const auto next = doubt.acquire(bob, 0, 2, 300, 310, 10'000);
  expect_one(judge(doubt), Fault::overlap, doubtful.op, next.op);
  EXPECT_TRUE(check(doubt.events(), {.loss_excuses = true}).ok());

  // The excuse is for the lost hold only, and not for the order of its token.
  const auto third = script.acquire(carol, 0, 3, 400, 410, 10'000);
  expect_one(check(script.events(), {.loss_excuses = true}), Fault::overlap, second.op, third.op);
  Script backwards;
  const auto lost = backwards.acquire(alice, 0, 9, 100, 110, 10'000);
  backwards.release(lost, 500, 510, Outcome::was_lost);
  const auto restarted = backwards.acquire(bob, 0, 1, 300, 310, 10'000);
  expect_one(check(backwards.events(), {.loss_excuses = true}), Fault::token_backwards, lost.op,
             restarted.op);
}

TEST(Checker, CatchesAnOldTokenThatTheResourceTook) {
  Script script;
  const auto first = script.acquire(alice, 0, 1, 100, 110, 200);
  script.write(first, 120, 130);
  const auto second = script.acquire(bob, 0, 2, 300, 310, 900);
  script.write(second, 320, 330);
  script.write(second, 340, 350);
  script.write(first, 325, 400);                 // may have come before that of bob
  script.write(first, 500, 510, Outcome::fail);  // refused, as it should be
  script.write(first, 520, 530, Outcome::unknown);
  EXPECT_EQ(judge(script).counts.refused_writes, 1U);
  EXPECT_EQ(judge(script).counts.writes, 4U);
  MORTISE_EXPECT_GOOD(script);

  script.write(first, 540, 550);
  const Report report = judge(script);
  EXPECT_TRUE(report.has(Fault::stale_write));
  EXPECT_EQ(report.violations.at(0).first.token, 2U);
  EXPECT_EQ(report.violations.at(0).second.invoked, 540);
  EXPECT_NE(report.text().find("with token 1 between +0.000000440 s"), std::string::npos)
      << report.text();
}

TEST(Checker, RefusesWhatIsNoHistory) {
  Script lonely;
  lonely.acquire(alice, 0, 1, 100, 110);
  lonely.events().erase(lonely.events().begin());
  expect_malformed(lonely, "it was never invoked");

  Script twice;
  twice.acquire(alice, 0, 1, 100, 110);
  twice.events().push_back(twice.events().back());
  expect_malformed(twice, "it returned before");

  Script backwards;
  backwards.acquire(alice, 0, 1, 100, 90);
  expect_malformed(backwards, "it returned before it was invoked");

  Script unheld;
  unheld.renewal({alice, 0, unheld.open_attempt(alice, 0, 100), 1}, 200, 300);
  expect_malformed(unheld, "its hold was never granted");

  Script foreign;
  auto stolen = foreign.acquire(alice, 0, 1, 100, 110);
  stolen.client = bob;
  foreign.release(stolen, 200, 210);
  expect_malformed(foreign, "it belongs to a hold of another process");

  Script posthumous;
  posthumous.acquire(alice, 0, 1, 100, 700);
  posthumous.death(alice.process, 500, 600);
  expect_malformed(posthumous, "it recorded an event after its death");

  Script shared;
  shared.acquire(alice, 0, 1, 100, 110);
  shared.events().back().pid = 99;
  expect_malformed(shared, "share this index");

  Script wild;
  wild.open_attempt(alice, 0, 100);
  wild.events().back().op = ~std::uint64_t{0};
  expect_malformed(wild, "its op is out of range");
}

TEST(Checker, CountsEveryViolationAndDescribesSome) {
  Script script;
  script.acquire(alice, 0, 1, 100, 110);
  for (std::uint64_t token = 2; token <= 101; ++token) {
    script.acquire(bob, 0, token, 200, 210);
  }
  const Report report = check(script.events(), {.describe = 3});
  EXPECT_EQ(report.faults, 100U);
  EXPECT_EQ(report.violations.size(), 3U);
  EXPECT_NE(report.text().find("and 97 more"), std::string::npos);
}

}  // namespace
}  // namespace mortise::model
