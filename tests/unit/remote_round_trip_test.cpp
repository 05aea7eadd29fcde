// SPDX-License-Identifier: MIT
// Goal: a slow connection gets more time for its requests, and a fast one does not. Method: the
// class alone, with round trips of the test's own.
#include "remote/round_trip.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

constexpr Instant departure{1h};
constexpr std::chrono::nanoseconds shortest = 1s;
constexpr std::chrono::nanoseconds longest = 4s;

void begin(RoundTrip& round_trip, std::chrono::nanoseconds took) {
  round_trip.begin(departure);
  round_trip.begun(departure + took);
}

TEST(RemoteRoundTrip, GivesTheShortestTimeUntilItKnowsBetter) {
  RoundTrip round_trip;
  EXPECT_EQ(round_trip.time(shortest, longest), shortest);
  begin(round_trip, 100us);
  for (int i = 0; i < 100; ++i)
    round_trip.answered(departure, departure + (i % 2 == 0 ? 50us : 3ms));
  EXPECT_EQ(round_trip.time(shortest, longest), shortest);
  EXPECT_LT(round_trip.time(0ns, longest), 20ms);
}

TEST(RemoteRoundTrip, GivesMoreThanASlowConnectionTakes) {
  RoundTrip round_trip;
  begin(round_trip, 1300ms);
  EXPECT_GE(round_trip.time(shortest, longest), 1300ms * 2);
  for (int i = 0; i < 100; ++i) {
    round_trip.answered(departure, departure + 1300ms);
    EXPECT_GE(round_trip.time(shortest, longest), 1300ms);
  }
  EXPECT_LE(round_trip.time(shortest, longest), 1950ms);
}

// Or one answer that takes a little longer would end a connection that is sound.
TEST(RemoteRoundTrip, GivesHalfAsMuchAgainToALinkWithEvenRoundTrips) {
  RoundTrip round_trip;
  begin(round_trip, 200ms);
  for (int i = 0; i < 100; ++i) round_trip.answered(departure, departure + 200ms);
  EXPECT_GE(round_trip.time(0ns, longest), 300ms);
}

// A renewal begins at a third of a lease of one second. If its connection is lost silently, a sixth
// leaves time for another connection, and a third does not.
// Promise: L8
TEST(RemoteRoundTrip, KnowsAfterAFewAnswersThatALinkOf110msIsEven) {
  RoundTrip round_trip;
  begin(round_trip, 110ms);
  EXPECT_GE(round_trip.time(166ms, 333ms), 220ms) << "the first request may bring a script along";
  for (int i = 0; i < 5; ++i) round_trip.answered(departure, departure + 110ms);
  EXPECT_EQ(round_trip.time(166ms, 333ms), 166ms);
}

// Promise: L7
TEST(RemoteRoundTrip, ALinkThatBecomesSlowerIsNotGivenUp) {
  RoundTrip round_trip;
  begin(round_trip, 1'700ms);
  round_trip.answered(departure, departure + 1'700ms);
  EXPECT_GE(round_trip.time(1s, 4s), 3s);
}

TEST(RemoteRoundTrip, GivesNoMoreThanTheLeaseAllows) {
  RoundTrip round_trip;
  begin(round_trip, 20s);
  EXPECT_EQ(round_trip.time(shortest, longest), longest);
  EXPECT_EQ(round_trip.time(100ms, 150ms), 150ms);
  EXPECT_EQ(round_trip.time(shortest, 150ms), shortest) << "of a short lease";
}

// The oldest request waits behind many others.
TEST(RemoteRoundTrip, OfAConnectionThatDeliversIsNotOver) {
  RoundTrip round_trip;
  begin(round_trip, 1ms);
  EXPECT_EQ(round_trip.dead_at(departure + 2s, departure + 1s), departure + 2s);
  round_trip.answered(departure + 1s, departure + 1900ms);
  EXPECT_EQ(round_trip.dead_at(departure + 2s, departure + 1s), departure + 2900ms);
}

// A program that was stopped measures a round trip of that length.
TEST(RemoteRoundTrip, ForgetsAStandstill) {
  RoundTrip round_trip;
  begin(round_trip, 1ms);
  round_trip.answered(departure, departure + 30s);
  EXPECT_EQ(round_trip.time(shortest, longest), longest);
  for (int i = 0; i < 40; ++i) round_trip.answered(departure, departure + 1ms);
  EXPECT_EQ(round_trip.time(shortest, longest), shortest);
}

}  // namespace
}  // namespace mortise::remote
