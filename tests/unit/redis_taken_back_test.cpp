// SPDX-License-Identifier: MIT
// Goal: what failed for its caller and may be held at the server is neither forgotten nor tried for
// ever. Method: the table of attempts alone, with the clock handed in.
#include "redis/attempts.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>

namespace mortise::redis {
namespace {

using namespace std::chrono_literals;

constexpr AttemptId taken_attempt{1, 2, 3};
const Instant failed_at{1h};

/// One that was asked for by a connection, and has failed since.
class RedisTakenBack : public ::testing::Test {
 protected:
  RedisTakenBack() {
    EXPECT_TRUE(attempts_.asked(operation_, 1));
    operation_->sent(failed_at - 1s);
    operation_->failed({Errc::denied, "refused"});
    EXPECT_TRUE(attempts_.taken_back(operation_, failed_at));
    operation_.reset();  // nobody else keeps it
  }
  [[nodiscard]] std::size_t listed(Instant now) { return attempts_.to_take_back(now).size(); }

  std::mutex mutex_;
  Attempts attempts_{mutex_};
  std::shared_ptr<Acquisition> operation_ = std::make_shared<Acquisition>(
      Acquisition::Request{.attempt = taken_attempt, .name = "a", .lease = 30s, .wait = true});
};

TEST_F(RedisTakenBack, IsKeptForEachNextConnection) {
  for (int connection = 0; connection < 3; ++connection) {
    EXPECT_EQ(listed(failed_at + 10s), 1U);
    EXPECT_TRUE(attempts_.takes_back(failed_at + 10s));
  }
}

// What its caller takes back is its caller's to repeat, and waits for a connection by itself.
TEST_F(RedisTakenBack, IsNotWhatACallerTakesBack) {
  const auto other = std::make_shared<Acquisition>(
      Acquisition::Request{.attempt = {1, 2, 4}, .name = "a", .lease = 30s, .wait = true});
  EXPECT_TRUE(attempts_.asked(other, 1));
  EXPECT_TRUE(attempts_.cancelled(other));
  attempts_.unanswered(other, {.noted = failed_at}, failed_at);
  EXPECT_TRUE(attempts_.is_leftover({1, 2, 4}));
  EXPECT_FALSE(attempts_.is_to_be_taken_back({1, 2, 4})) << "nobody would send its cancel";
  EXPECT_TRUE(attempts_.is_to_be_taken_back(taken_attempt));
}

TEST_F(RedisTakenBack, IsNotTriedForEver) {
  EXPECT_FALSE(attempts_.takes_back(failed_at + 2min)) << "a server that has gone is connected to";
  EXPECT_EQ(listed(failed_at + 2min), 0U);
  EXPECT_EQ(listed(failed_at), 0U) << "it is kept all the same";
}

TEST_F(RedisTakenBack, IsOverWithTheAnswerThatNothingIsThere) {
  attempts_.over(taken_attempt);
  EXPECT_EQ(listed(failed_at), 0U);
  EXPECT_FALSE(attempts_.takes_back(failed_at));
}

TEST_F(RedisTakenBack, StaysUntilWhatItWasGrantedIsReleased) {
  static_cast<void>(attempts_.held(taken_attempt, 5, failed_at, failed_at + 30s));
  EXPECT_EQ(listed(failed_at), 1U) << "the release may never have been sent";
  EXPECT_TRUE(attempts_.is_leftover(taken_attempt));
  static_cast<void>(attempts_.released(taken_attempt, 5));
  EXPECT_EQ(listed(failed_at), 0U);
  EXPECT_FALSE(attempts_.takes_back(failed_at));
}

TEST_F(RedisTakenBack, AsALeftoverIsGivenUpWhereNothingIsFound) {
  static_cast<void>(attempts_.held(taken_attempt, 5, failed_at, failed_at + 30s));
  attempts_.give_up_leftover(taken_attempt);
  EXPECT_EQ(listed(failed_at), 0U);
  EXPECT_FALSE(attempts_.is_leftover(taken_attempt));
}

}  // namespace
}  // namespace mortise::redis
