// SPDX-License-Identifier: MIT
// Goal: the lease's decisions are right at each edge of its time line (S4, S6, L8).
// Method: the test owns the time; no thread, no sleep.
#include "core/lease.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace mortise::core {
namespace {

using namespace std::chrono_literals;

constexpr Instant origin{1h};

Terms terms(Nanos lease = 30s, bool renew = true, Nanos max_hold = Nanos::max()) {
  return {.lease = lease, .renew = renew, .max_hold = max_hold, .label = "test"};
}

Grant grant(Nanos lease = 30s, Instant counted_from = origin) {
  return {.number = 1, .counted_from = counted_from, .lease = lease};
}

TEST(LeaseTest, DeadlineLeavesDriftAndMargin) {
  const Lease lease(terms(), grant(), {}, origin + 5ms, 0);
  // 30 s less 0.1 % for the clocks and 1 % for the caller.
  EXPECT_EQ(lease.deadline(), origin + 30s - 30ms - 300ms);
  EXPECT_EQ(lease.valid_for(origin + 5ms), 30s - 330ms - 5ms);
}

TEST(LeaseTest, MarginHasALeastValue) {
  const Lease lease(terms(100ms), grant(100ms), {}, origin, 0);
  EXPECT_EQ(lease.deadline(), origin + 100ms - 100us - 20ms);
}

// Promise: S1
TEST(LeaseTest, CountsFromTheRequestNotFromTheReply) {
  const Lease lease(terms(), grant(30s, origin), {}, origin + 10s, 0);
  EXPECT_EQ(lease.deadline(), origin + 30s - 330ms);
}

// Promise: S8
TEST(LeaseTest, GrantThatComesAfterItsLeaseIsWorthNothing) {
  const Lease lease(terms(1s), grant(1s), {}, origin + 2s, 0);
  EXPECT_EQ(lease.valid_for(origin + 2s), 0s);
}

TEST(LeaseTest, SessionMarginIsTheBackends) {
  const SafetyMargin margin{.permille = 100, .least = 1s};
  EXPECT_EQ(Lease(terms(), grant(10s), margin, origin, 0).deadline(), origin + 10s - 10ms - 1s);
  EXPECT_EQ(Lease(terms(), grant(20s), margin, origin, 0).deadline(), origin + 20s - 20ms - 2s);
}

TEST(LeaseTest, WithoutALeaseNothingEndsIt) {
  Lease lease(terms(), grant(no_lease), {}, origin, 0);
  EXPECT_EQ(lease.valid_for(origin + 1000h), Nanos::max());
  EXPECT_EQ(lease.deadline(), never);
  EXPECT_EQ(lease.tick(origin + 1000h), Lease::Step::none);
  EXPECT_TRUE(lease.fit_to_pass(origin + 1000h));
}

// Somebody has to look whether there is anybody left to unlock it.
TEST(LeaseTest, WithoutALeaseItIsLookedAtAsOftenAsItWouldBeRenewed) {
  Lease lease(terms(), grant(no_lease), {}, origin, 0);
  EXPECT_EQ(lease.next(), origin + 10s);
  EXPECT_EQ(lease.early(), 1s);
  EXPECT_EQ(lease.tick(origin + 10s), Lease::Step::none);
  EXPECT_EQ(lease.next(), origin + 20s);
}

// Promise: L9
TEST(LeaseTest, OwnerlessItIsNotRenewedAndEndsWhenItsLeaseDoes) {
  Lease lease(terms(), grant(), {}, origin, 0);
  EXPECT_FALSE(lease.ownerless());
  lease.disown(origin + 10s);
  EXPECT_TRUE(lease.ownerless());
  EXPECT_EQ(lease.next(), origin + 30s - 330ms);
  EXPECT_EQ(lease.tick(origin + 10s), Lease::Step::none);
  EXPECT_FALSE(lease.fit_to_pass(origin + 10s)) << "whoever it was passed to would lose it";
  EXPECT_EQ(lease.tick(origin + 30s - 330ms), Lease::Step::lose);
}

TEST(LeaseTest, OwnerlessWhileARenewalIsUnderWayItIsNotRenewedAgain) {
  Lease lease(terms(), grant(2s), {}, origin, 0);
  EXPECT_EQ(lease.tick(origin + 1s), Lease::Step::renew);
  lease.disown(origin + 1s);
  EXPECT_TRUE(lease.renewed(origin + 1s, 2s, origin + 1s)) << "still less than what was asked for";
  EXPECT_EQ(lease.next(), origin + 3s - 22ms);
  lease.disown(origin + 2s);
  EXPECT_EQ(lease.next(), origin + 3s - 22ms);
}

// Promise: L9
TEST(LeaseTest, OwnerlessWithoutALeaseItEndsAsIfItHadOne) {
  Lease lease(terms(), grant(no_lease), {}, origin, 0);
  EXPECT_EQ(lease.tick(origin + 10s), Lease::Step::none);
  lease.disown(origin + 20s);
  EXPECT_EQ(lease.deadline(), origin + 40s) << "a lease from the last look at which it was not";
  lease.disown(origin + 30s);
  EXPECT_EQ(lease.deadline(), origin + 40s);
  EXPECT_EQ(lease.tick(origin + 40s), Lease::Step::lose);
}

TEST(LeaseTest, ToldWhenItWouldEndIfItWasDisowned) {
  Lease lease(terms(), grant(), {}, origin, 0);
  EXPECT_EQ(lease.end_unrenewed(origin + 10s), origin + 30s - 330ms);
  Lease unlimited(terms(30s, true, 60s), grant(no_lease), {}, origin, 0);
  EXPECT_EQ(unlimited.end_unrenewed(origin + 10s), origin + 30s);
  EXPECT_EQ(unlimited.end_unrenewed(origin + 50s), origin + 60s) << "the longest hold";
  unlimited.disown(origin + 10s);
  EXPECT_EQ(unlimited.end_unrenewed(origin + 20s), origin + 30s);
}

// A newcomer among readers asks whether others wait, also where there is nothing to renew.
TEST(LeaseTest, WithoutALeaseWhatWasAskedAndIsNotAnsweredIsMissed) {
  Lease lease(terms(), grant(no_lease), {}, origin, 0);
  lease.asked_too(origin + 1s);
  EXPECT_EQ(lease.next(), origin + 2s);
  EXPECT_TRUE(lease.fit_to_pass(origin + 2s));
  EXPECT_EQ(lease.tick(origin + 2s), Lease::Step::renew);
  EXPECT_FALSE(lease.fit_to_pass(origin + 2s));
  lease.unanswered(origin + 2s);
  EXPECT_EQ(lease.tick(origin + 2500ms), Lease::Step::renew);
  ASSERT_TRUE(lease.renewed(origin + 2500ms, no_lease, origin + 2500ms));
  EXPECT_TRUE(lease.fit_to_pass(origin + 3s));
  EXPECT_EQ(lease.next(), origin + 12500ms) << "then it is looked at as before";
  EXPECT_EQ(lease.tick(origin + 12500ms), Lease::Step::none);
}

TEST(LeaseTest, AskedTooItIsMissedAsEarlyAsEver) {
  Lease lease(terms(), grant(), {}, origin, 0);
  lease.asked_too(origin + 1s);
  EXPECT_EQ(lease.next(), origin + 2s);
  lease.asked_too(origin + 1500ms);
  EXPECT_EQ(lease.next(), origin + 2s);
  EXPECT_EQ(lease.tick(origin + 2s), Lease::Step::renew);
  EXPECT_EQ(lease.state(), Lease::State::jeopardy);
  EXPECT_TRUE(lease.in_doubt());
}

TEST(LeaseTest, RenewsAtAThird) {
  Lease lease(terms(), grant(), {}, origin, 0);
  EXPECT_EQ(lease.next(), origin + 10s);
  EXPECT_EQ(lease.tick(origin + 10s - 1ns), Lease::Step::none);
  EXPECT_EQ(lease.tick(origin + 10s), Lease::Step::renew);
  EXPECT_EQ(lease.tick(origin + 10s), Lease::Step::none) << "one renewal is on its way";
  EXPECT_TRUE(lease.renewed(origin + 10s, 30s, origin + 10s + 1ms));
  EXPECT_EQ(lease.deadline(), origin + 40s - 330ms);
  EXPECT_EQ(lease.next(), origin + 20s);
}

TEST(LeaseTest, RenewalsOfManyHoldsAreSpread) {
  const Lease first(terms(), grant(), {}, origin, 0);
  const Lease last(terms(), grant(), {}, origin, 1);
  EXPECT_EQ(first.next() - last.next(), 2500ms);
}

TEST(LeaseTest, WithoutRenewalItEndsOnTime) {
  Lease lease(terms(30s, false), grant(), {}, origin, 0);
  EXPECT_EQ(lease.next(), lease.deadline());
  EXPECT_EQ(lease.tick(lease.deadline() - 1ns), Lease::Step::none);
  EXPECT_EQ(lease.tick(lease.deadline()), Lease::Step::lose);
}

TEST(LeaseTest, AProvisionalLeaseIsRaisedOnceEvenWithoutRenewal) {
  Lease lease(terms(30s, false), grant(2s), {}, origin, 0);
  ASSERT_EQ(lease.tick(lease.next()), Lease::Step::renew);
  EXPECT_EQ(lease.wanted(), 30s);
  EXPECT_TRUE(lease.renewed(origin + 700ms, 30s, origin + 701ms));
  EXPECT_EQ(lease.next(), lease.deadline()) << "the full lease, and no further renewal";
}

TEST(LeaseTest, AFixedLeaseIsNotProvisional) {
  Grant fixed = grant(10s);
  fixed.fixed = true;
  const Lease unrenewed(terms(30s, false), fixed, {}, origin, 0);
  EXPECT_EQ(unrenewed.next(), unrenewed.deadline()) << "a renewal would bring nothing more";
  const Lease renewed(terms(30s), fixed, {}, origin, 0);
  EXPECT_EQ(renewed.wanted(), 10s);
  EXPECT_EQ(renewed.next(), origin + Nanos(10s) / 3);
}

// A hold whose part is the whole is moved ahead by a quarter of the time between two renewals, four
// times, and stays there; and anew after all holds may have been asked for at once.
TEST(LeaseTest, RenewalsAreMovedApartAndThenComeWhenTheyMust) {
  Lease lease(terms(), grant(), {}, origin, 1);
  Instant now = origin;
  const auto next = [&](Nanos after) {
    const Nanos off = lease.next() - (now + after);
    EXPECT_LT(std::max(off, -off), 1us);
    now = lease.next();
    ASSERT_EQ(lease.tick(now), Lease::Step::renew);
  };
  for (const bool again : {false, true}) {
    for (int i = 0; i < 4; ++i) {
      if (i > 0) {
        ASSERT_TRUE(lease.renewed(now, 30s, now));
      }
      next(7500ms);
    }
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(lease.renewed(now, 30s, now));
      next(10s);
    }
    if (again) continue;
    lease.unanswered(now);
    now = lease.next();
    ASSERT_EQ(lease.tick(now), Lease::Step::renew);
    ASSERT_TRUE(lease.renewed(now, 30s, now));
  }
}

// Promise: L8
TEST(LeaseTest, RenewalIsRepeatedInsideTheLease) {
  Lease lease(terms(), grant(), {}, origin, 0);
  Instant now = lease.next();
  int asked = 0;
  while (lease.tick(now) != Lease::Step::lose) {
    ++asked;
    lease.unanswered(now + 1ms);
    EXPECT_EQ(lease.state(), Lease::State::jeopardy);
    now = lease.next();
  }
  EXPECT_GT(asked, 20);
  EXPECT_EQ(now, origin + 30s - 330ms);
}

TEST(LeaseTest, SilenceIsJeopardyToo) {
  Lease lease(terms(), grant(), {}, origin, 0);
  ASSERT_EQ(lease.tick(origin + 10s), Lease::Step::renew);
  EXPECT_EQ(lease.state(), Lease::State::held);
  ASSERT_EQ(lease.tick(origin + 11s), Lease::Step::renew);
  EXPECT_EQ(lease.state(), Lease::State::jeopardy);
  EXPECT_FALSE(lease.fit_to_pass(origin + 11s));
  EXPECT_TRUE(lease.renewed(origin + 11s, 30s, origin + 11s));
  EXPECT_EQ(lease.state(), Lease::State::held);
}

// Promise: S4
TEST(LeaseTest, ALateRenewalDoesNotReviveTheHold) {
  Lease lease(terms(1s), grant(1s), {}, origin, 0);
  ASSERT_EQ(lease.tick(origin + 400ms), Lease::Step::renew);
  const Instant end = lease.deadline();
  EXPECT_FALSE(lease.renewed(origin + 400ms, 1s, end));
  EXPECT_EQ(lease.state(), Lease::State::lost);
  EXPECT_EQ(lease.valid_for(origin), 0s) << "for ever";
  EXPECT_FALSE(lease.renewed(end, 1s, end));
}

TEST(LeaseTest, AnEarlierAnswerNeverShortensALaterOne) {
  Lease lease(terms(), grant(), {}, origin, 0);
  EXPECT_TRUE(lease.renewed(origin + 10s, 30s, origin + 11s));
  const Instant end = lease.deadline();
  EXPECT_TRUE(lease.renewed(origin + 5s, 30s, origin + 12s));
  EXPECT_EQ(lease.deadline(), end);
}

TEST(LeaseTest, MaxHoldEndsItWhateverTheServerSays) {
  Lease lease(terms(1s, true, 3s), grant(1s), {}, origin, 0);
  Instant now = origin;
  while (lease.tick(now) != Lease::Step::lose) {
    now = lease.next();
    if (now < lease.deadline()) {
      EXPECT_TRUE(lease.renewed(now, 1s, now));
    }
  }
  EXPECT_EQ(now, origin + 3s);
  EXPECT_TRUE(lease.ends_by_max_hold());
}

TEST(LeaseTest, PassedOnWithHalfALeaseLeft) {
  Lease lease(terms(1s, false), grant(1s), {}, origin, 0);
  EXPECT_TRUE(lease.fit_to_pass(origin + 400ms));
  EXPECT_FALSE(lease.fit_to_pass(origin + 600ms));
}

TEST(LeaseTest, TheNewOwnerHasItsLongestHoldBeforeIt) {
  Lease lease(terms(30s, true, 60s), grant(no_lease), {}, origin, 0);
  lease.passed(origin + 10s, 60s);
  EXPECT_EQ(lease.deadline(), origin + 70s);
}

}  // namespace
}  // namespace mortise::core
