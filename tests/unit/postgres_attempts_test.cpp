// SPDX-License-Identifier: MIT
// Goal: who waits, and is told of a free name, asks once at a time, and misses nothing. Method: the
// table of attempts alone.
#include "postgres/attempts.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace mortise::postgres {
namespace {

using namespace std::chrono_literals;

class PostgresAttempts : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(attempts_.wanted(operation_)); }
  static std::shared_ptr<Acquisition> waiter() {
    return std::make_shared<Acquisition>(Acquisition::Request{
        .attempt = AttemptId{1, 2, 3}, .name = "a", .lease = 10s, .wait = true});
  }
  const std::shared_ptr<Acquisition> operation_ = waiter();
  const AttemptId id_ = operation_->request().attempt;
  Attempts attempts_{false};
};

TEST_F(PostgresAttempts, AskAtOnceWhereNothingIsOnItsWay) {
  EXPECT_TRUE(attempts_.told(id_));
  EXPECT_FALSE(attempts_.told_meanwhile(id_)) << "it has asked already";
}

// A hundred releases elsewhere, while its connection stands still, are worth one more request.
TEST_F(PostgresAttempts, AskOnceMoreWhenWhatWasOnItsWayIsAnswered) {
  static_cast<void>(attempts_.sent(id_));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(attempts_.told(id_));
  EXPECT_FALSE(attempts_.told_meanwhile(id_)) << "it is not answered yet";
  attempts_.answered(id_);
  EXPECT_TRUE(attempts_.told_meanwhile(id_));
  EXPECT_FALSE(attempts_.told_meanwhile(id_));
}

// What it looked at in vain before says nothing of what it is told now.
TEST_F(PostgresAttempts, BeginAnewToLookSoonWhenTheyAreTold) {
  for (unsigned i = 1; i <= 7; ++i) EXPECT_EQ(attempts_.looked_in_vain(id_, false), i);
  EXPECT_TRUE(attempts_.told(id_));
  EXPECT_EQ(attempts_.looked_in_vain(id_, false), 1U);
}

}  // namespace
}  // namespace mortise::postgres
