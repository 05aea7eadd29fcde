// SPDX-License-Identifier: MIT
// Goal: a vote is asked for again only for exactly a hold that stands, and a release knows whom it
// concerns. Method: the table alone, by moments of the test's own.
#include "redlock/holds.hpp"
#include "redlock/strays.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace mortise::redlock {
namespace {

using namespace std::chrono_literals;

constexpr Instant now{100s};
constexpr Quorum five{.nodes = 5};

HoldId hold() {
  return {
      .name = "name", .attempt = {.client_high = 1, .client_low = 2, .sequence = 3}, .number = 7};
}

TEST(RedlockHoldsTest, OnlyExactlyTheHoldStands) {
  Holds holds;
  EXPECT_FALSE(holds.stands(hold(), now));
  holds.add(hold(), now + 1s, only(0), now);
  EXPECT_TRUE(holds.stands(hold(), now));
  HoldId other = hold();
  other.name = "other name";
  EXPECT_FALSE(holds.stands(other, now));
  other = hold();
  ++other.number;
  EXPECT_FALSE(holds.stands(other, now));
  other = hold();
  ++other.attempt.client_high;
  EXPECT_FALSE(holds.stands(other, now));
}

TEST(RedlockHoldsTest, StandsUntilItsEndAndIsExtendedByRenewal) {
  Holds holds;
  holds.add(hold(), now + 1s, only(0), now);
  EXPECT_FALSE(holds.stands(hold(), now + 1s));
  holds.extend(hold(), now + 2s);
  EXPECT_TRUE(holds.stands(hold(), now + 1s));
  holds.extend(hold(), now);
  EXPECT_TRUE(holds.stands(hold(), now + 1s)) << "a late answer never shortens";
}

TEST(RedlockHoldsTest, EndsWithItsRelease) {
  Holds holds;
  holds.add(hold(), now + 1s, only(0) | only(3), now);
  holds.voted(hold(), 4);
  const auto release = std::make_shared<Release>(hold());
  const Holds::End first = holds.end(release, five);
  EXPECT_TRUE(first.fresh);
  EXPECT_TRUE(first.known);
  EXPECT_TRUE(first.freeing->known) << "so that servers that voted late are freed, too";
  EXPECT_EQ(first.maybe, only(0) | only(3) | only(4));
  EXPECT_FALSE(holds.stands(hold(), now)) << "or a vote could be asked for behind the release";
  const Holds::End again = holds.end(release, five);
  EXPECT_FALSE(again.fresh);
  EXPECT_EQ(again.freeing, first.freeing);
  holds.forget(hold().attempt);
  const Holds::End late = holds.end(std::make_shared<Release>(hold()), five);
  EXPECT_TRUE(late.fresh);
  EXPECT_FALSE(late.known);
  EXPECT_EQ(late.maybe, five.all()) << "what is not known anybody may have";
}

TEST(RedlockHoldsTest, AForgedReleaseEndsNothing) {
  Holds holds;
  holds.add(hold(), now + 1s, only(0), now);
  HoldId forged = hold();
  ++forged.number;
  EXPECT_FALSE(holds.end(std::make_shared<Release>(forged), five).known);
  EXPECT_TRUE(holds.stands(hold(), now));
}

TEST(RedlockHoldsTest, TheLapsedAreForgottenInTheEnd) {
  Holds holds;
  HoldId old = hold();
  holds.add(old, now, only(0), now);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    HoldId each = hold();
    each.attempt.sequence = 10 + i;
    holds.add(each, now + 1h, only(0), now + 10min);
  }
  EXPECT_FALSE(holds.end(std::make_shared<Release>(old), five).known);
}

TEST(RedlockStraysTest, AreRememberedAsLongAsServersRefuseThem) {
  Strays strays;
  EXPECT_FALSE(strays.has(hold().attempt));
  strays.add(hold().attempt, false, 1, now);
  EXPECT_TRUE(strays.has(hold().attempt));
  EXPECT_FALSE(strays.has_release(hold().attempt));
  strays.add(hold().attempt, true, 1, now + 1s);
  strays.add(hold().attempt, false, 1, now + 2s);
  EXPECT_TRUE(strays.has_release(hold().attempt));
  AttemptId other = hold().attempt;
  ++other.sequence;
  strays.add(other, false, 1, now + 10min);
  EXPECT_FALSE(strays.has(hold().attempt));
}

// Telling the server once is enough: each time costs it.
TEST(RedlockStraysTest, AreOverOnceANewerRequestWasAnswered) {
  Strays strays;
  const AttemptId attempt = hold().attempt;
  strays.add(attempt, true, 3, now);
  strays.answered(attempt, 3);  // of that connection still
  EXPECT_TRUE(strays.has(attempt));
  strays.answered(attempt, 4);
  EXPECT_FALSE(strays.has(attempt));
  EXPECT_TRUE(strays.has_release(attempt));  // until that is answered as well
  strays.add(attempt, false, 4, now + 1s);
  EXPECT_TRUE(strays.has(attempt));  // there are newer ones
  strays.released(attempt);
  EXPECT_FALSE(strays.has_release(attempt));
  EXPECT_TRUE(strays.has(attempt));
  strays.answered(attempt, 5);
  EXPECT_FALSE(strays.has(attempt));
}

}  // namespace
}  // namespace mortise::redlock
