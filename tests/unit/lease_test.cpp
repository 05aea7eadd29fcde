// SPDX-License-Identifier: MIT
// Goal: the lease's decisions are right at each edge of its time line (S4, S6, L8).
// Method: the test owns the time; no thread, no sleep.
#include "core/lease.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace mortise::core {
namespace {

using namespace std::chrono_literals;

constexpr Instant start{1h};

Terms terms(Nanos lease = 30s, bool renew = true, Nanos max_hold = Nanos::max()) {
  return {.lease = lease, .renew = renew, .max_hold = max_hold, .label = "test"};
}

Grant grant(Nanos lease = 30s, Instant counted_from = start) {
  return {.number = 1, .counted_from = counted_from, .lease = lease};
}

TEST(LeaseTest, DeadlineLeavesDriftAndMargin) {
  const Lease lease(terms(), grant(), {}, start + 5ms, 0);
  // 30 s less 0.1 % for the clocks and 1 % for the caller.
  EXPECT_EQ(lease.deadline(), start + 30s - 30ms - 300ms);
  EXPECT_EQ(lease.valid_for(start + 5ms), 30s - 330ms - 5ms);
}

TEST(LeaseTest, MarginHasALeastValue) {
  const Lease lease(terms(100ms), grant(100ms), {}, start, 0);
  EXPECT_EQ(lease.deadline(), start + 100ms - 100us - 20ms);
}

// Promise: S1
TEST(LeaseTest, CountsFromTheRequestNotFromTheReply) {
  const Lease lease(terms(), grant(30s, start), {}, start + 10s, 0);
  EXPECT_EQ(lease.deadline(), start + 30s - 330ms);
}

// Promise: S8
TEST(LeaseTest, GrantThatComesAfterItsLeaseIsWorthNothing) {
  const Lease lease(terms(1s), grant(1s), {}, start + 2s, 0);
  EXPECT_EQ(lease.valid_for(start + 2s), 0s);
}

TEST(LeaseTest, SessionMarginIsTheBackends) {
  const SafetyMargin margin{.permille = 100, .least = 1s};
  EXPECT_EQ(Lease(terms(), grant(10s), margin, start, 0).deadline(), start + 10s - 10ms - 1s);
  EXPECT_EQ(Lease(terms(), grant(20s), margin, start, 0).deadline(), start + 20s - 20ms - 2s);
}

TEST(LeaseTest, WithoutALeaseNothingEndsIt) {
  Lease lease(terms(), grant(no_lease), {}, start, 0);
  EXPECT_EQ(lease.valid_for(start + 1000h), Nanos::max());
  EXPECT_EQ(lease.deadline(), never);
  EXPECT_EQ(lease.tick(start + 1000h), Lease::Step::none);
  EXPECT_TRUE(lease.fit_to_pass(start + 1000h));
}

// Somebody has to look whether there is anybody left to unlock it.
TEST(LeaseTest, WithoutALeaseItIsLookedAtAsOftenAsItWouldBeRenewed) {
  Lease lease(terms(), grant(no_lease), {}, start, 0);
  EXPECT_EQ(lease.next(), start + 10s);
  EXPECT_EQ(lease.early(), 1s);
  EXPECT_EQ(lease.tick(start + 10s), Lease::Step::none);
  EXPECT_EQ(lease.next(), start + 20s);
}

// Promise: L9
TEST(LeaseTest, OwnerlessItIsNotRenewedAndEndsWhenItsLeaseDoes) {
  Lease lease(terms(), grant(), {}, start, 0);
  EXPECT_FALSE(lease.ownerless());
  lease.disown(start + 10s);
  EXPECT_TRUE(lease.ownerless());
  EXPECT_EQ(lease.next(), start + 30s - 330ms);
  EXPECT_EQ(lease.tick(start + 10s), Lease::Step::none);
  EXPECT_FALSE(lease.fit_to_pass(start + 10s)) << "whoever it was passed to would lose it";
  EXPECT_EQ(lease.tick(start + 30s - 330ms), Lease::Step::lose);
}

TEST(LeaseTest, OwnerlessWhileARenewalIsUnderWayItIsNotRenewedAgain) {
  Lease lease(terms(), grant(2s), {}, start, 0);
  EXPECT_EQ(lease.tick(start + 1s), Lease::Step::renew);
  lease.disown(start + 1s);
  EXPECT_TRUE(lease.renewed(start + 1s, 2s, start + 1s)) << "still less than what was asked for";
  EXPECT_EQ(lease.next(), start + 3s - 22ms);
  lease.disown(start + 2s);
  EXPECT_EQ(lease.next(), start + 3s - 22ms);
}

// Promise: L9
TEST(LeaseTest, OwnerlessWithoutALeaseItEndsAsIfItHadOne) {
  Lease lease(terms(), grant(no_lease), {}, start, 0);
  EXPECT_EQ(lease.tick(start + 10s), Lease::Step::none);
  lease.disown(start + 20s);
  EXPECT_EQ(lease.deadline(), start + 40s) << "a lease from the last look at which it was not";
  lease.disown(start + 30s);
  EXPECT_EQ(lease.deadline(), start + 40s);
  EXPECT_EQ(lease.tick(start + 40s), Lease::Step::lose);
}

TEST(LeaseTest, ToldWhenItWouldEndIfItWasDisowned) {
  Lease lease(terms(), grant(), {}, start, 0);
  EXPECT_EQ(lease.end_unrenewed(start + 10s), start + 30s - 330ms);
  Lease unlimited(terms(30s, true, 60s), grant(no_lease), {}, start, 0);
  EXPECT_EQ(unlimited.end_unrenewed(start + 10s), start + 30s);
  EXPECT_EQ(unlimited.end_unrenewed(start + 50s), start + 60s) << "the longest hold";
  unlimited.disown(start + 10s);
  EXPECT_EQ(unlimited.end_unrenewed(start + 20s), start + 30s);
}

// A newcomer among readers asks whether others wait, also where there is nothing to renew.
TEST(LeaseTest, WithoutALeaseWhatWasAskedAndIsNotAnsweredIsMissed) {
  Lease lease(terms(), grant(no_lease), {}, start, 0);
  lease.asked_too(start + 1s);
  EXPECT_EQ(lease.next(), start + 2s);
  EXPECT_TRUE(lease.fit_to_pass(start + 2s));
  EXPECT_EQ(lease.tick(start + 2s), Lease::Step::renew);
  EXPECT_FALSE(lease.fit_to_pass(start + 2s));
  lease.unanswered(start + 2s);
  EXPECT_EQ(lease.tick(start + 2500ms), Lease::Step::renew);
  ASSERT_TRUE(lease.renewed(start + 2500ms, no_lease, start + 2500ms));
  EXPECT_TRUE(lease.fit_to_pass(start + 3s));
  EXPECT_EQ(lease.next(), start + 12500ms) << "then it is looked at as before";
  EXPECT_EQ(lease.tick(start + 12500ms), Lease::Step::none);
}

TEST(LeaseTest, AskedTooItIsMissedAsEarlyAsEver) {
  Lease lease(terms(), grant(), {}, start, 0);
  lease.asked_too(start + 1s);
  EXPECT_EQ(lease.next(), start + 2s);
  lease.asked_too(start + 1500ms);
  EXPECT_EQ(lease.next(), start + 2s);
  EXPECT_EQ(lease.tick(start + 2s), Lease::Step::renew);
  EXPECT_EQ(lease.state(), Lease::State::jeopardy);
  EXPECT_TRUE(lease.in_doubt());
}

TEST(LeaseTest, RenewsAtAThird) {
  Lease lease(terms(), grant(), {}, start, 0);
  EXPECT_EQ(lease.next(), start + 10s);
  EXPECT_EQ(lease.tick(start + 10s - 1ns), Lease::Step::none);
  EXPECT_EQ(lease.tick(start + 10s), Lease::Step::renew);
  EXPECT_EQ(lease.tick(start + 10s), Lease::Step::none) << "one renewal is on its way";
  EXPECT_TRUE(lease.renewed(start + 10s, 30s, start + 10s + 1ms));
  EXPECT_EQ(lease.deadline(), start + 40s - 330ms);
  EXPECT_EQ(lease.next(), start + 20s);
}

TEST(LeaseTest, RenewalsOfManyHoldsAreSpread) {
  const Lease first(terms(), grant(), {}, start, 0);
  const Lease last(terms(), grant(), {}, start, 1);
  EXPECT_EQ(first.next() - last.next(), 2500ms);
}

TEST(LeaseTest, WithoutRenewalItEndsOnTime) {
  Lease lease(terms(30s, false), grant(), {}, start, 0);
  EXPECT_EQ(lease.next(), lease.deadline());
  EXPECT_EQ(lease.tick(lease.deadline() - 1ns), Lease::Step::none);
  EXPECT_EQ(lease.tick(lease.deadline()), Lease::Step::lose);
}

TEST(LeaseTest, AProvisionalLeaseIsRaisedOnceEvenWithoutRenewal) {
  Lease lease(terms(30s, false), grant(2s), {}, start, 0);
  ASSERT_EQ(lease.tick(lease.next()), Lease::Step::renew);
  EXPECT_EQ(lease.wanted(), 30s);
  EXPECT_TRUE(lease.renewed(start + 700ms, 30s, start + 701ms));
  EXPECT_EQ(lease.next(), lease.deadline()) << "the full lease, and no further renewal";
}

TEST(LeaseTest, AFixedLeaseIsNotProvisional) {
  Grant fixed = grant(10s);
  fixed.fixed = true;
  const Lease unrenewed(terms(30s, false), fixed, {}, start, 0);
  EXPECT_EQ(unrenewed.next(), unrenewed.deadline()) << "a renewal would bring nothing more";
  const Lease renewed(terms(30s), fixed, {}, start, 0);
  EXPECT_EQ(renewed.wanted(), 10s);
  EXPECT_EQ(renewed.next(), start + Nanos(10s) / 3);
}

// A hold whose part is the whole is moved ahead by a quarter of the time between two renewals, four
// times, and stays there; and anew after all holds may have been asked for at once.
TEST(LeaseTest, RenewalsAreMovedApartAndThenComeWhenTheyMust) {
  Lease lease(terms(), grant(), {}, start, 1);
  Instant now = start;
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
  Lease lease(terms(), grant(), {}, start, 0);
  Instant now = lease.next();
  int asked = 0;
  while (lease.tick(now) != Lease::Step::lose) {
    ++asked;
    lease.unanswered(now + 1ms);
    EXPECT_EQ(lease.state(), Lease::State::jeopardy);
    now = lease.next();
  }
  EXPECT_GT(asked, 20);
  EXPECT_EQ(now, start + 30s - 330ms);
}

TEST(LeaseTest, SilenceIsJeopardyToo) {
  Lease lease(terms(), grant(), {}, start, 0);
  ASSERT_EQ(lease.tick(start + 10s), Lease::Step::renew);
  EXPECT_EQ(lease.state(), Lease::State::held);
  ASSERT_EQ(lease.tick(start + 11s), Lease::Step::renew);
  EXPECT_EQ(lease.state(), Lease::State::jeopardy);
  EXPECT_FALSE(lease.fit_to_pass(start + 11s));
  EXPECT_TRUE(lease.renewed(start + 11s, 30s, start + 11s));
  EXPECT_EQ(lease.state(), Lease::State::held);
}

// Promise: S4
TEST(LeaseTest, ALateRenewalDoesNotReviveTheHold) {
  Lease lease(terms(1s), grant(1s), {}, start, 0);
  ASSERT_EQ(lease.tick(start + 400ms), Lease::Step::renew);
  const Instant end = lease.deadline();
  EXPECT_FALSE(lease.renewed(start + 400ms, 1s, end));
  EXPECT_EQ(lease.state(), Lease::State::lost);
  EXPECT_EQ(lease.valid_for(start), 0s) << "for ever";
  EXPECT_FALSE(lease.renewed(end, 1s, end));
}

TEST(LeaseTest, AnEarlierAnswerNeverShortensALaterOne) {
  Lease lease(terms(), grant(), {}, start, 0);
  EXPECT_TRUE(lease.renewed(start + 10s, 30s, start + 11s));
  const Instant end = lease.deadline();
  EXPECT_TRUE(lease.renewed(start + 5s, 30s, start + 12s));
  EXPECT_EQ(lease.deadline(), end);
}

TEST(LeaseTest, MaxHoldEndsItWhateverTheServerSays) {
  Lease lease(terms(1s, true, 3s), grant(1s), {}, start, 0);
  Instant now = start;
  while (lease.tick(now) != Lease::Step::lose) {
    now = lease.next();
    if (now < lease.deadline()) {
      EXPECT_TRUE(lease.renewed(now, 1s, now));
    }
  }
  EXPECT_EQ(now, start + 3s);
  EXPECT_TRUE(lease.ends_by_max_hold());
}

TEST(LeaseTest, PassedOnWithHalfALeaseLeft) {
  Lease lease(terms(1s, false), grant(1s), {}, start, 0);
  EXPECT_TRUE(lease.fit_to_pass(start + 400ms));
  EXPECT_FALSE(lease.fit_to_pass(start + 600ms));
}

TEST(LeaseTest, TheNewOwnerHasItsLongestHoldBeforeIt) {
  Lease lease(terms(30s, true, 60s), grant(no_lease), {}, start, 0);
  lease.passed(start + 10s);
  EXPECT_EQ(lease.deadline(), start + 70s);
}

}  // namespace
}  // namespace mortise::core
