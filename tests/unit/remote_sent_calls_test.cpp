// SPDX-License-Identifier: MIT
// Goal: a connection counts as dead as soon as one of its calls is too late, whichever call that
// is, and not before. Method: the list alone; the time is given.
#include "remote/sent_calls.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <random>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

struct SentRequest {
  Purpose why = Purpose::renew;
  Patience patience{};
  Instant asked{};
  Instant since{};
  Instant left{};
  Instant deadline{};
  std::uint64_t number = 0;

  [[nodiscard]] Purpose purpose() const noexcept { return why; }
};

void let_go(SentRequest& /*call*/) noexcept {}

/// A clock that the test sets.
class SetClock final : public Clock {
 public:
  explicit SetClock(Instant now) noexcept : now_(now) {}
  [[nodiscard]] Instant now() const noexcept override { return now_; }
  void set(Instant now) noexcept { now_ = now; }
  void advance(std::chrono::nanoseconds step) noexcept { now_ += step; }

 private:
  Instant now_;
};

class RemoteSentCalls : public ::testing::Test {
 protected:
  /// A call leaves. @return whether the thread that polls must look earlier
  bool send(std::chrono::nanoseconds usual, Purpose why = Purpose::renew) {
    SentRequest call{.why = why, .patience = {.usual = usual}};
    calls_.make_room();
    return calls_.add(call, clock_).is_due_earlier;
  }
  /// The oldest call is answered.
  void answer() {
    ASSERT_NE(calls_.take_oldest(), nullptr);
    static_cast<void>(calls_.read(clock_));
    calls_.answer();
    calls_.finish();
  }
  /// Looks when that is due, as the thread that polls does. @return when the connection is dead
  Instant wait_for_the_end() {
    for (int looks = 0; looks < 1'000 && calls_.due() != never; ++looks) {
      clock_.set(calls_.due());
      if (calls_.is_late(clock_.now())) return clock_.now();
    }
    return never;
  }

  static inline const Instant start{1h};
  SetClock clock_{start};
  SentCalls<SentRequest> calls_{nullptr};
};

TEST_F(RemoteSentCalls, NothingIsLateIfNoCallIsUnderWay) {
  EXPECT_EQ(calls_.due(), never);
  EXPECT_FALSE(calls_.is_late(start + 1h));
  send(1s);
  EXPECT_EQ(calls_.due(), start + 1s);
  answer();
  EXPECT_EQ(calls_.due(), never);
  EXPECT_FALSE(calls_.is_late(start + 1h));
}

// The renewal has to be repeated on another connection before its short lease ends.
// Promise: L8
TEST_F(RemoteSentCalls, ARenewalDoesNotWaitAsLongAsTheReleaseBeforeIt) {
  calls_.begin(start);
  calls_.begun(start);
  send(1s, Purpose::release);
  clock_.advance(10ms);
  send(166ms);
  EXPECT_FALSE(calls_.is_late(start + 176ms - 1ns));
  EXPECT_EQ(wait_for_the_end(), start + 176ms);
}

// Answers come in the order of the calls. A server that delivers is alive.
TEST_F(RemoteSentCalls, AnAnswerGivesTheCallsBehindItTheirTimeAgain) {
  send(1s, Purpose::release);
  send(166ms);
  send(1s, Purpose::release);
  clock_.advance(100ms);
  answer();
  EXPECT_FALSE(calls_.is_late(start + 266ms - 1ns));
  EXPECT_TRUE(calls_.is_late(start + 266ms));
  clock_.set(start + 150ms);
  answer();
  EXPECT_EQ(wait_for_the_end(), start + 1150ms) << "the renewal is answered";
}

// A thread sleeps until `due()`, so that must never be too late.
TEST_F(RemoteSentCalls, IsDueNotLaterThanAnyCallIsLate) {
  struct Expected {
    Instant left;
    std::chrono::nanoseconds time;
  };
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same calls in each run
  std::deque<Expected> expected;
  Instant heard = start;
  calls_.begin(start);
  const auto dead = [&] {
    Instant first = never;
    for (const Expected& each : expected)
      first = std::min(first, std::max(each.left, heard) + each.time);
    return first;
  };
  for (int step = 0; step < 20'000; ++step) {
    clock_.advance(std::chrono::microseconds(random() % 4'000));
    const Instant now = clock_.now();
    ASSERT_LE(calls_.due(), dead()) << step;
    if (calls_.due() <= now) {
      ASSERT_EQ(calls_.is_late(now), dead() <= now) << step;
    }
    if (dead() <= now) {
      static_cast<void>(calls_.end());
      expected.clear();
      calls_.begin(heard = now);
    } else if (!expected.empty() && random() % 2 == 0) {
      answer();
      expected.pop_front();
      heard = now;
    } else {
      const std::chrono::milliseconds time(1 + random() % 50);
      send(time);
      expected.push_back({now, time});
    }
  }
}

// Promise: L8
TEST_F(RemoteSentCalls, ACallWithAnEarlierDeadlineWakesTheThreadThatPolls) {
  EXPECT_FALSE(send(1s, Purpose::take)) << "its caller looks at its time";
  EXPECT_FALSE(send(500ms, Purpose::take));
  EXPECT_TRUE(send(100ms));
  EXPECT_FALSE(send(100ms));
  for (int i = 0; i < 4; ++i) answer();
  EXPECT_TRUE(send(100ms)) << "no caller waits for a renewal";
  answer();
  EXPECT_FALSE(send(100ms, Purpose::take));
  EXPECT_TRUE(send(100ms)) << "the thread that polls does not know of the call before";
}

}  // namespace
}  // namespace mortise::remote
