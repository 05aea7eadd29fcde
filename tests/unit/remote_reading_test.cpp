// SPDX-License-Identifier: MIT
// Goal: a server's time becomes a moment of ours that is not too late, and the other way round.
// Method: random clocks, and readings one by one.
#include "model/seed.hpp"
#include "remote/reading.hpp"
#include "remote/server_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

const Instant read_at{1h};

// Two clocks whose rates differ by 0.1 % at most; the reply took any time to reach us.
TEST(RemoteReadingTest, IsNotLaterThanTheServersMoment) {
  const Reading at{read_at, 1'000s};
  EXPECT_EQ(at.not_later_than(1'000s), read_at);
  EXPECT_EQ(at.not_later_than(1'010s), read_at + 10s - 10ms);
  EXPECT_EQ(at.not_later_than(990s), read_at - 10s - 10ms);
  EXPECT_EQ(at.not_later_than(1'000'000'001us), read_at + 999ns);
  std::mt19937_64 random(model::test_seed());
  for (int round = 0; round < 10'000; ++round) {
    const auto passed = std::chrono::microseconds(random() % 86'400'000'000);
    const auto travel = std::chrono::microseconds(random() % 1'000'000);
    const auto permille = static_cast<int>(random() % 3) - 1;  // how much faster our clock runs
    const auto ours = [&](std::chrono::nanoseconds span) { return span + span * permille / 1000; };
    const Instant replied = read_at + travel;
    ASSERT_LE(at.not_later_than(at.at + passed), replied + ours(passed));
    // Of a grant before the reply: its lease must not seem to end later than it does, when the
    // drift of the whole lease is taken off, as the library does with every lease.
    const std::chrono::nanoseconds lease = passed + std::chrono::milliseconds(random() % 60'000);
    ASSERT_LE(at.not_later_than(at.at - passed) + lease - lease / 1000,
              replied + ours(lease - passed) + 1ns);
  }
}

TEST(RemoteServerClockTest, GoesOnFromTheLastReading) {
  ServerClock clock;
  EXPECT_EQ(clock.at(read_at), 0us);
  clock.read(read_at, 20s, read_at + 1ms);
  EXPECT_EQ(clock.at(read_at + 1s), 21s);
  clock.read(read_at + 1s, 10s, read_at + 1s);  // it was set back
  EXPECT_EQ(clock.at(read_at + 3s), 12s);
  clock.read(read_at + 1s, 10s, read_at + 9s);  // the thread stood still: it sent, or read, late
  EXPECT_EQ(clock.at(read_at + 9s), 11s);
  clock.forget();
  EXPECT_EQ(clock.at(read_at), 0us);
}

}  // namespace
}  // namespace mortise::remote
