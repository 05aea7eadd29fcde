// SPDX-License-Identifier: MIT
// Goal: waiters keep their places at a server with few requests, and no waiter is left out for
// long. Method: the class alone; the time is an argument.
#include "remote/ask_turns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class RemoteAskTurns : public ::testing::Test {
 protected:
  using Waiter = AskTurns::Waiter;

  static Waiter waiter_of(std::uint64_t sequence) {
    return std::make_shared<Acquisition>(
        Acquisition::Request{.attempt = {1, 2, sequence}, .name = "a", .lease = 30s, .wait = true});
  }
  void leave(const Waiter& waiter) { gone_.insert(waiter->request().attempt); }

  static inline const Instant start{1h};
  std::set<AttemptId> gone_;
  AskTurns turns_{
      [this](const Acquisition& waiter) { return !gone_.contains(waiter.request().attempt); }};
  const Waiter one_ = waiter_of(1);
  const Waiter two_ = waiter_of(2);
  const Waiter three_ = waiter_of(3);
};

// Promise: L5
TEST_F(RemoteAskTurns, OneRequestRenewsThePlacesOfAllThatWait) {
  EXPECT_FALSE(turns_.any_places());
  for (const auto& each : {one_, two_, three_}) {
    EXPECT_THAT(turns_.take_turn(each, start).together, IsEmpty()) << "it has no place";
    turns_.placed(each, start);
  }
  EXPECT_TRUE(turns_.any_places());
  EXPECT_TRUE(turns_.take_turn(one_, start + 499ms).is_left_out) << "its place was renewed lately";
  EXPECT_THAT(turns_.take_turn(two_, start + 1s).together,
              UnorderedElementsAre(one_, two_, three_));
  EXPECT_TRUE(turns_.take_turn(one_, start + 1s).is_left_out);
  leave(one_);
  leave(two_);
  const auto alone = turns_.take_turn(three_, start + 2s);
  EXPECT_FALSE(alone.is_left_out);
  EXPECT_THAT(alone.together, IsEmpty());
}

// The attempt that renewed its place leaves before the next turn.
// Promise: L2
TEST_F(RemoteAskTurns, AWaiterWhoseTurnWasLeftOutAsksASecondAfterItsPlaceWasRenewed) {
  for (const auto& each : {one_, two_}) turns_.placed(each, start);
  EXPECT_THAT(turns_.take_turn(one_, start + 1s).together, ElementsAre(one_, two_));
  EXPECT_EQ(turns_.due(), never);
  EXPECT_TRUE(turns_.take_turn(two_, start + 1450ms).is_left_out);
  EXPECT_EQ(turns_.due(), start + 2s);
  EXPECT_EQ(turns_.take_left_out(start + 2s - 1ns), nullptr);
  EXPECT_THAT(turns_.take_turn(one_, start + 1900ms).together, ElementsAre(one_, two_));
  EXPECT_EQ(turns_.take_left_out(start + 2s), nullptr) << "the other one has asked for it";
  EXPECT_EQ(turns_.due(), start + 2900ms);
  leave(one_);
  EXPECT_EQ(turns_.take_left_out(start + 2900ms), two_);
  EXPECT_FALSE(turns_.take_turn(two_, start + 2900ms).is_left_out);
  EXPECT_EQ(turns_.take_left_out(start + 4s), nullptr) << "its own turns go on";
  EXPECT_EQ(turns_.due(), never);
}

TEST_F(RemoteAskTurns, OneRequestRenewsNoMorePlacesThanOneScriptCan) {
  std::vector<Waiter> all;
  for (std::uint64_t i = 1; i <= 300; ++i) {
    all.push_back(waiter_of(i));
    turns_.placed(all.back(), start);
  }
  std::set<Waiter> placed;
  std::size_t requests = 0;
  for (const auto& each : all) {
    const auto turn = turns_.take_turn(each, start + 1s);
    if (turn.is_left_out) continue;
    ++requests;
    EXPECT_LE(turn.together.size(), AskTurns::most_together);
    placed.insert(turn.together.begin(), turn.together.end());
  }
  EXPECT_EQ(requests, 3U);
  EXPECT_EQ(placed.size(), 300U);
}

// Each waiter asks once per second; no place gets older than the 1.5 s that the servers bear twice.
// Promise: L5
TEST_F(RemoteAskTurns, TenThousandWaitersAskLessThanAHundredTimesPerSecond) {
  constexpr std::uint64_t waiters = 10'000;
  std::vector<Waiter> all;
  std::vector<Instant> renewed;
  for (std::uint64_t i = 0; i < waiters; ++i) {
    all.push_back(waiter_of(i));
    renewed.push_back(start + i * 100us);
    turns_.placed(all.back(), renewed.back());
  }
  std::size_t requests = 0;
  std::chrono::nanoseconds oldest{};
  const auto ask = [&](const Waiter& waiter, Instant now) {
    const auto turn = turns_.take_turn(waiter, now);
    if (turn.is_left_out) return;
    ++requests;
    ASSERT_THAT(turn.together, ::testing::Not(IsEmpty()));
    for (const Waiter& each : turn.together) {
      Instant& last = renewed[each->request().attempt.sequence];
      oldest = std::max(oldest, now - last);
      last = now;
    }
  };
  constexpr std::uint64_t seconds = 10;
  for (std::uint64_t i = 0; i < waiters * seconds; ++i) {
    const Instant now = start + 1s + i * 100us;
    while (const Waiter waiter = turns_.take_left_out(now)) ask(waiter, now);
    ask(all[i * 7919 % waiters], now);  // not in the order of their places
  }
  EXPECT_LT(requests / seconds, 100U);
  EXPECT_LE(oldest, 1500ms);
}

TEST_F(RemoteAskTurns, MomentsComeInOrderAndOnce) {
  EXPECT_EQ(turns_.due(), never);
  EXPECT_THAT(turns_.take_due(start), IsEmpty());
  const auto four = waiter_of(4);
  turns_.ask_at(one_, start + 3s);
  EXPECT_EQ(turns_.due(), start + 3s);
  turns_.ask_at(two_, start + 1s);
  turns_.ask_at(three_, start + 2s);
  turns_.ask_at(four, start + 4s);
  EXPECT_EQ(turns_.due(), start + 1s);
  EXPECT_THAT(turns_.take_due(start + 1s - 1ns), IsEmpty());
  EXPECT_THAT(turns_.take_due(start + 2s), ElementsAre(two_, three_));
  EXPECT_EQ(turns_.due(), start + 3s);
  EXPECT_THAT(turns_.take_due(start + 2s), IsEmpty());
  leave(one_);
  leave(four);
  EXPECT_THAT(turns_.take_due(start + 5s), IsEmpty()) << "neither waits any more";
  EXPECT_EQ(turns_.due(), never);
}

// Or each later request would look for its turn.
TEST_F(RemoteAskTurns, PlacesOfWaitersThatAreGoneAreForgotten) {
  for (const auto& each : {one_, two_}) turns_.placed(each, start);
  turns_.placed(waiter_of(5), start);
  leave(one_);
  leave(two_);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(turns_.take_turn(three_, start + 1s).together, IsEmpty());
  EXPECT_FALSE(turns_.any_places());
}

// Waiters come and go, and none of them asks for a second time.
TEST_F(RemoteAskTurns, PlacesAreForgottenAlthoughNoTurnIsTaken) {
  for (std::uint64_t i = 10; i < 1'000; ++i) {
    const auto waiter = waiter_of(i);
    turns_.placed(waiter, start + i * 1s);
    leave(waiter);
  }
  static_cast<void>(turns_.take_turn(three_, start + 2'000s));
  EXPECT_FALSE(turns_.any_places()) << "a turn forgets two places at most";
}

}  // namespace
}  // namespace mortise::remote
