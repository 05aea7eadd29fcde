// SPDX-License-Identifier: MIT
// Goal: a notification finds the attempts that wait for its name, and an attempt is cancelled at
// the server if it may have something there. Method: the table of attempts alone. Its courses are
// in remote_courses_test.cpp, the requests of one attempt in postgres_waiter_test.cpp.
#include "postgres/attempts.hpp"
#include "postgres/statements.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace mortise::postgres {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PostgresAttempts : public ::testing::Test {
 protected:
  static std::shared_ptr<Acquisition> waiter(std::uint64_t sequence, const char* name = "a") {
    return std::make_shared<Acquisition>(Acquisition::Request{
        .attempt = AttemptId{1, 2, sequence}, .name = name, .lease = 10s, .wait = true});
  }
  void lose() {
    attempts_.unanswered(one_, {.after = 1h + 1s, .clock = 7, .noted = start}, start + 1s);
  }
  static constexpr Instant start{1h};
  const std::shared_ptr<Acquisition> one_ = waiter(3);
  const AttemptId id_ = one_->request().attempt;
  Attempts attempts_{false};
};

TEST_F(PostgresAttempts, AreFoundByTheNameThatTheyWaitFor) {
  const auto two = waiter(4);
  const auto other = waiter(5, "b");
  for (const auto& each : {one_, two, other}) ASSERT_TRUE(attempts_.wanted(each));
  EXPECT_THAT(attempts_.waiting("a", {}), ElementsAre(one_, two));
  const std::string first(attempt_bytes(two->request().attempt).view());
  EXPECT_THAT(attempts_.waiting("a", first), ElementsAre(two));
  EXPECT_THAT(attempts_.waiting("c", {}), IsEmpty());
  two->busy({});
  EXPECT_THAT(attempts_.waiting("a", {}), ElementsAre(one_));
  attempts_.over(two->request().attempt);
  attempts_.held(id_, 7, start, start + 10s);
  EXPECT_THAT(attempts_.waiting("a", {}), IsEmpty());
  EXPECT_TRUE(attempts_.anybody_waits());
  EXPECT_FALSE(attempts_.cancelled(other));
  EXPECT_FALSE(attempts_.anybody_waits());
}

// However many ask for it, one request is under way.
TEST_F(PostgresAttempts, HaveOneRequestUnderWay) {
  EXPECT_FALSE(attempts_.asked(id_)) << "it is not wanted";
  ASSERT_TRUE(attempts_.wanted(one_));
  EXPECT_TRUE(attempts_.asked(id_));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(attempts_.asked(id_));
  EXPECT_FALSE(attempts_.answered(one_, false));
  EXPECT_TRUE(attempts_.asked(id_));
  lose();
  EXPECT_TRUE(attempts_.asked(id_));
  attempts_.not_sent(id_);
  EXPECT_TRUE(attempts_.asked(id_));
}

TEST_F(PostgresAttempts, AreCancelledAtTheServerIfTheyMayHaveSomethingThere) {
  ASSERT_TRUE(attempts_.wanted(one_));
  ASSERT_TRUE(attempts_.asked(id_));
  EXPECT_FALSE(attempts_.answered(one_, true));
  EXPECT_TRUE(attempts_.cancelled(one_));
  EXPECT_TRUE(attempts_.any_taken_back()) << "close() waits for the answer";
  EXPECT_FALSE(attempts_.asked(id_));
  EXPECT_TRUE(attempts_.answered(one_, false));
  EXPECT_FALSE(attempts_.wanted(one_));
  one_->busy({});
  attempts_.over(id_);
  EXPECT_FALSE(attempts_.any_taken_back());
}

TEST_F(PostgresAttempts, AreForgottenWithoutACancelIfTheyHaveNothingThere) {
  ASSERT_TRUE(attempts_.wanted(one_));
  ASSERT_TRUE(attempts_.asked(id_));
  EXPECT_FALSE(attempts_.answered(one_, false));
  EXPECT_FALSE(attempts_.cancelled(one_));
  EXPECT_EQ(attempts_.size(), 0U);
}

// With tickets each waiter has one at the server.
TEST_F(PostgresAttempts, WithTicketsAreCancelledAtTheServer) {
  Attempts attempts(true);
  ASSERT_TRUE(attempts.wanted(one_));
  ASSERT_TRUE(attempts.asked(id_));
  EXPECT_FALSE(attempts.answered(one_, false));
  EXPECT_TRUE(attempts.cancelled(one_));
}

TEST_F(PostgresAttempts, AreCancelledAtTheServerIfARequestWasLost) {
  ASSERT_TRUE(attempts_.wanted(one_));
  ASSERT_TRUE(attempts_.asked(id_));
  lose();
  EXPECT_TRUE(attempts_.is_in_doubt(id_));
  EXPECT_TRUE(attempts_.cancelled(one_));
}

// A caller whose time ends while its attempt gives way: it asks once, and is taken back as usual.
TEST_F(PostgresAttempts, ThatGaveWayUntilTheirEndAskOnce) {
  ASSERT_TRUE(attempts_.give_way(one_));
  EXPECT_TRUE(attempts_.waiter(id_, &Waiter::gives_way));
  EXPECT_FALSE(attempts_.waiter(id_, &Waiter::tell));
  EXPECT_TRUE(attempts_.may_ask_last(id_));
  EXPECT_TRUE(attempts_.waiter(id_, &Waiter::asks_last));
  EXPECT_TRUE(attempts_.any_taken_back()) << "close() waits for the answer";
  EXPECT_FALSE(attempts_.may_ask_last(id_));
  ASSERT_TRUE(attempts_.asked(id_));
  EXPECT_TRUE(attempts_.cancelled(one_));
  EXPECT_FALSE(attempts_.may_ask_last(id_));
  one_->busy({});
  EXPECT_FALSE(attempts_.give_way(one_));
}

TEST_F(PostgresAttempts, KnowWhichReleaseMayHaveBeenExecuted) {
  const HoldId hold{.name = "a", .attempt = id_, .number = 7};
  EXPECT_EQ(attempts_.held(id_, 7, start, start + 10s), 7U);
  attempts_.release_lost(hold, start);
  EXPECT_TRUE(attempts_.released(hold));
  EXPECT_FALSE(attempts_.released(hold));
}

}  // namespace
}  // namespace mortise::postgres
