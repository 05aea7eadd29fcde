// SPDX-License-Identifier: MIT
// Goal: a client looks for the hold that a lost request may have taken, when the server ignores
// that request, and no longer than it can exist. Method: the table of attempts alone, event by
// event, with the clock handed in.
#include "unit/redis_attempts_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace mortise::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using enum Attempts::Verdict::Kind;

class RedisLeftovers : public AttemptsFixture {
 protected:
  static constexpr ServerTime at{1'700'000'000'000'000};  ///< of the server, at `start`

  /// Its connection broke at `start`. The server ignores the request a second later.
  void lose(const std::shared_ptr<Acquisition>& taker, std::uint64_t clock = 7) {
    attempts_.unanswered(taker, {.after = at + 1s, .clock = clock, .noted = start}, start + 1s);
  }
};

// A message decided it while it asked once more. If that grant was over when the request came, the
// request took the lock again.
TEST_F(RedisLeftovers, AreLookedAtOnceTheirAttemptIsDecidedAndTheRequestIsVoid) {
  attempts_.asked(one_, 1);
  attempts_.waits(id_of(1), reading, 76);
  lose(one_);
  EXPECT_EQ(attempts_.next_leftover(), start + 1s);
  EXPECT_TRUE(attempts_.is_leftover(id_of(1)));
  EXPECT_THAT(attempts_.leftovers(start + 1s), IsEmpty()) << "its next request shows it";
  EXPECT_FALSE(attempts_.takes_back(start + 1s));
  ASSERT_EQ(attempts_.granted(grant_of(1)).kind, believe);
  EXPECT_TRUE(attempts_.takes_back(start));
  EXPECT_EQ(attempts_.leftover(id_of(1), start + 1s - 1ns), nullptr) << "it may still arrive";
  EXPECT_EQ(attempts_.leftover(id_of(1), start + 1s), one_);
  EXPECT_THAT(attempts_.leftovers(start + 1s), IsEmpty()) << "one look is enough";
  attempts_.put_back(id_of(1));
  EXPECT_THAT(attempts_.leftovers(start + 1s), ElementsAre(one_));
}

// Promise: S5
TEST_F(RedisLeftovers, AreLookedAtAgainIfTheServerLookedBeforeTheVoidMoment) {
  attempts_.asked(one_, 1);
  lose(one_);
  attempts_.over(id_of(1));
  ASSERT_THAT(attempts_.leftovers(start + 1s), ElementsAre(one_));
  EXPECT_TRUE(attempts_.answered(id_of(1), at + 900ms, 7, start + 1s)) << "its clock is slow";
  EXPECT_THAT(attempts_.leftovers(start + 1s + 100ms), IsEmpty());
  EXPECT_EQ(attempts_.next_leftover(), start + 1s + 102ms);
  ASSERT_THAT(attempts_.leftovers(start + 1s + 102ms), ElementsAre(one_));
  EXPECT_FALSE(attempts_.answered(id_of(1), at + 1s + 1us, 7, start + 1s + 103ms));
  EXPECT_FALSE(attempts_.is_leftover(id_of(1)));
  EXPECT_FALSE(attempts_.takes_back(start + 2s));
}

// The moment says nothing by the clock of another server, to which the name has moved.
TEST_F(RedisLeftovers, OfAnotherServersClockAreVoidTwoSecondsLater) {
  lose(one_);
  ASSERT_THAT(attempts_.leftovers(start + 1s), ElementsAre(one_));
  EXPECT_TRUE(attempts_.answered(id_of(1), at + 1h, 8, start + 1s));
  ASSERT_THAT(attempts_.leftovers(start + 2s + 2ms), ElementsAre(one_));
  EXPECT_FALSE(attempts_.answered(id_of(1), at - 1h, 8, start + 2s + 3ms));
  EXPECT_FALSE(attempts_.is_leftover(id_of(1)));
}

// The slot of the name has gone to another server. A request or a look is lost there.
// Promise: S5
TEST_F(RedisLeftovers, OfOneServerAreNotForgottenForThoseOfAnother) {
  for (const ServerTime after : {at + 1s, ServerTime{}}) {  // a look takes nothing
    lose(one_);
    attempts_.unanswered(one_, {.after = after, .clock = 8, .noted = start + 100ms}, start + 100ms);
    ASSERT_THAT(attempts_.leftovers(start + 1s), ElementsAre(one_));
    EXPECT_TRUE(attempts_.answered(id_of(1), at + 1h, 8, start + 1s)) << "the slot may come back";
    ASSERT_THAT(attempts_.leftovers(start + 2s + 2ms), ElementsAre(one_));
    EXPECT_FALSE(attempts_.answered(id_of(1), at + 1h, 8, start + 2s + 3ms));
    EXPECT_FALSE(attempts_.is_leftover(id_of(1)));
  }
}

TEST_F(RedisLeftovers, AreRepeatedNowAndThenIfTheClockWasSetBackAndNotForEver) {
  lose(one_);
  ASSERT_THAT(attempts_.leftovers(start + 1s), ElementsAre(one_));
  EXPECT_TRUE(attempts_.answered(id_of(1), at - 1h, 7, start + 1s));
  EXPECT_EQ(attempts_.next_leftover(), start + 3s + 2ms);
  EXPECT_TRUE(attempts_.takes_back(start + 2min));
  EXPECT_FALSE(attempts_.takes_back(start + 2min + 1ns));
  EXPECT_FALSE(attempts_.answered(id_of(1), at - 1h, 7, start + 2min + 1ns));
}

TEST_F(RedisLeftovers, AreTheLastOfSeveralLostRequests) {
  lose(one_);
  attempts_.unanswered(one_, {.after = at + 5s, .clock = 7, .noted = start + 4s}, start + 5s);
  EXPECT_THAT(attempts_.leftovers(start + 1s), IsEmpty());
  ASSERT_THAT(attempts_.leftovers(start + 5s), ElementsAre(one_));
  EXPECT_TRUE(attempts_.answered(id_of(1), at + 2s, 7, start + 5s));
}

// close() would wait for it.
TEST_F(RedisLeftovers, ThatAreRefusedForGoodAreWaitedForNoMore) {
  lose(one_);
  ASSERT_EQ(attempts_.leftover(id_of(1), start + 1s), one_);
  EXPECT_TRUE(attempts_.takes_back(start));
  attempts_.give_up_leftover(id_of(1));
  EXPECT_FALSE(attempts_.takes_back(start));
  EXPECT_FALSE(attempts_.is_leftover(id_of(1)));
}

TEST_F(RedisLeftovers, AReleaseIsInDoubtByTheNumberOfItsHold) {
  const auto hold = [](std::uint64_t number) {
    return HoldId{.name = "a", .attempt = id_of(1), .number = number};
  };
  attempts_.asked(one_, 1);
  EXPECT_EQ(attempts_.held(id_of(1), 77, start, start + 30s), 77U);
  attempts_.release_unanswered(hold(78), start);
  EXPECT_FALSE(attempts_.released(id_of(1), 78)) << "another one was given back";
  attempts_.release_unanswered(hold(77), start);
  EXPECT_TRUE(attempts_.released(id_of(1), 77));
  EXPECT_FALSE(attempts_.released(id_of(1), 77)) << "it was answered";
}

// It was read, and then there was no memory to pass it on: the release is repeated.
TEST_F(RedisLeftovers, AReleaseIsInDoubtWhoseAnswerWasReadInVain) {
  const HoldId hold{.name = "a", .attempt = id_of(1), .number = 77};
  attempts_.asked(one_, 1);
  EXPECT_EQ(attempts_.held(id_of(1), 77, start, start + 30s), 77U);
  EXPECT_FALSE(attempts_.released(id_of(1), 77));
  attempts_.release_unanswered(hold, start);
  EXPECT_TRUE(attempts_.released(id_of(1), 77));
  EXPECT_EQ(attempts_.size(), 0U);
}

}  // namespace
}  // namespace mortise::redis
