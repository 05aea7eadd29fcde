// SPDX-License-Identifier: MIT
// Goal: who waits, and is told of a free name, asks once at a time, and misses nothing. Method: the
// table of attempts alone.
#include "postgres/attempts.hpp"
#include "support/own_time.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace mortise::postgres {
namespace {

using namespace std::chrono_literals;

class PostgresAttempts : public ::testing::Test {
 protected:
  using InVain = Attempts::InVain;
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

// However many ask for it, one request is on its way: more of them would be repeated by the next
// connection, each of them.
TEST_F(PostgresAttempts, HaveOneRequestOnItsWay) {
  EXPECT_TRUE(attempts_.sent_alone(id_));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(attempts_.sent_alone(id_));
  attempts_.answered(id_);
  EXPECT_TRUE(attempts_.sent_alone(id_));
  attempts_.unanswered(id_, Instant{1h});
  const auto again = attempts_.sent_alone(id_);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->older);
  attempts_.not_sent(id_);
  EXPECT_TRUE(attempts_.sent_alone(id_));
}

// What it looked at in vain before says nothing of what it is told now.
TEST_F(PostgresAttempts, BeginAnewToLookSoonWhenTheyAreTold) {
  for (unsigned i = 1; i <= 7; ++i) EXPECT_EQ(attempts_.looked_in_vain(id_, InVain::held), i);
  for (unsigned i = 1; i <= 7; ++i) EXPECT_EQ(attempts_.looked_in_vain(id_, InVain::locked), i);
  EXPECT_TRUE(attempts_.told(id_));
  EXPECT_EQ(attempts_.looked_in_vain(id_, InVain::locked), 1U);
  EXPECT_EQ(attempts_.looked_in_vain(id_, InVain::held), 1U);
}

// The first of a queue behind a pooler looks each quarter of a second. When its turn had come it
// met the row locked, by a look of somebody's behind it, and came as late again. Promise: L2
TEST_F(PostgresAttempts, LookSoonAgainWhereTheRowIsLocked) {
  for (unsigned i = 1; i <= 7; ++i) EXPECT_EQ(attempts_.looked_in_vain(id_, InVain::held), i);
  EXPECT_EQ(attempts_.looked_in_vain(id_, InVain::locked), 1U);
  EXPECT_EQ(attempts_.looked_in_vain(id_, InVain::locked), 2U);
  EXPECT_EQ(attempts_.looked_in_vain(id_, InVain::held), 8U) << "nor does it look more often now";
  EXPECT_EQ(attempts_.looked_in_vain(id_, InVain::locked), 1U);
  EXPECT_EQ(attempts_.looked_in_vain(id_, InVain::told_later), 0U);
  EXPECT_EQ(attempts_.looked_in_vain(id_, InVain::held), 1U);
}

// The release that it hears of is its own client's: those who are farther from the server are to
// ask before it.
TEST_F(PostgresAttempts, ThatGiveWayHearOfNoReleaseUntilTheyHaveAsked) {
  ASSERT_TRUE(attempts_.gives_way(operation_));
  EXPECT_FALSE(attempts_.told(id_));
  EXPECT_FALSE(attempts_.told_meanwhile(id_)) << "it will ask by itself";
  EXPECT_TRUE(attempts_.gives_way(id_));
  static_cast<void>(attempts_.sent(id_));
  EXPECT_FALSE(attempts_.gives_way(id_));
  EXPECT_FALSE(attempts_.told(id_)) << "its request is on its way";
  attempts_.answered(id_);
  EXPECT_TRUE(attempts_.told_meanwhile(id_));
}

// One thread hears that the name is free while another one has decided, and not said so yet.
TEST_F(PostgresAttempts, ThatAreWantedWhenTheyWereJustDecidedAreForgotten) {
  for (const bool counted : {true, false}) {
    const auto late = waiter();
    attempts_.decided(id_);
    ASSERT_TRUE(attempts_.wanted(late));
    if (counted) static_cast<void>(attempts_.sent(id_));
    EXPECT_TRUE(attempts_.anybody_waits());
    late->granted({.number = 1});
    counted ? attempts_.not_sent(id_) : attempts_.not_wanted(id_);
    EXPECT_FALSE(attempts_.anybody_waits());
    EXPECT_FALSE(attempts_.any_left_over());
  }
}

// Its connection is dead, and nobody has said so yet.
TEST_F(PostgresAttempts, ThatAreOvertakenHaveAnOlderCopy) {
  attempts_.overtakes(id_, Instant{1h});
  EXPECT_FALSE(attempts_.copies(id_).older) << "nothing was sent";
  static_cast<void>(attempts_.sent(id_));
  EXPECT_FALSE(attempts_.copies(id_).older);
  attempts_.overtakes(id_, Instant{1h});
  EXPECT_TRUE(attempts_.copies(id_).older);
  EXPECT_EQ(attempts_.copies(id_).number, 2);
}

TEST_F(PostgresAttempts, OfWhichOneIsOverAreOvertakenAsWell) {
  static_cast<void>(attempts_.sent(id_));
  attempts_.decided(id_);
  attempts_.overtakes(id_, Instant{1h});
  EXPECT_TRUE(attempts_.copies(id_).older) << "a release has to say so";
}

// Whose time ends while it gives way is asked for once, and then taken back as all are.
TEST_F(PostgresAttempts, ThatGaveWayUntilTheirEndAreAskedForOnce) {
  EXPECT_FALSE(attempts_.may_ask_last(id_)) << "it does not give way";
  ASSERT_TRUE(attempts_.gives_way(operation_));
  EXPECT_FALSE(attempts_.asks_last(id_));
  EXPECT_TRUE(attempts_.may_ask_last(id_));
  EXPECT_TRUE(attempts_.asks_last(id_));
  EXPECT_TRUE(attempts_.any_taken_back()) << "who closes has to wait for the answer";
  EXPECT_FALSE(attempts_.may_ask_last(id_));
  static_cast<void>(attempts_.sent(id_));
  EXPECT_TRUE(attempts_.cancelled(operation_)) << "the server has to be told";
  EXPECT_FALSE(attempts_.may_ask_last(id_));
}

TEST_F(PostgresAttempts, ThatAreOverGiveWayToNobody) {
  attempts_.decided(id_);
  operation_->busy({});
  EXPECT_FALSE(attempts_.gives_way(operation_));
  EXPECT_FALSE(attempts_.gives_way(id_));
}

// When a connection with thousands of requests breaks, the last costs no more than the first.
TEST_F(PostgresAttempts, OfABrokenConnectionCostTheSameEach) {
  constexpr std::uint64_t many = 40'000;
  constexpr std::uint64_t part = many / 40;
  const Instant now{1h};
  std::uint64_t next = 1;
  const auto some = [&] {
    for (std::uint64_t i = 0; i < part; ++i) attempts_.unanswered(AttemptId{1, 2, next++}, now);
  };
  const auto first = test::own_duration_of(some);
  while (next <= many - part) some();
  const auto last = test::least_duration_of(first * 10, some);
  EXPECT_LT(last, first * 10 + 5ms);
}

// Another copy may be granted yet what the first one was refused: close() waits for its answer.
TEST_F(PostgresAttempts, AreLeftOverWhereAnotherCopyIsOnItsWayWhenTheyAreDecided) {
  static_cast<void>(attempts_.sent(id_));
  static_cast<void>(attempts_.sent(id_));
  attempts_.answered(id_);
  EXPECT_FALSE(attempts_.any_left_over()) << "it is wanted";
  attempts_.decided(id_);
  EXPECT_TRUE(attempts_.any_left_over());
  static_cast<void>(attempts_.sent(id_));
  attempts_.answered(id_);
  EXPECT_TRUE(attempts_.any_left_over());
  attempts_.unanswered(id_, Instant{1h});
  EXPECT_FALSE(attempts_.any_left_over());
}

// An answer that makes no sense ends one request, and what it has taken is to be taken back; of the
// other copy the answer is still to come.
TEST_F(PostgresAttempts, InDoubtAreTakenBackAndTheirOtherCopiesAwaited) {
  static_cast<void>(attempts_.sent(id_));
  static_cast<void>(attempts_.sent(id_));
  attempts_.answered(id_);
  attempts_.executed_in_doubt(id_, Instant{1h});
  EXPECT_TRUE(attempts_.cancelled(operation_));
  attempts_.decided(id_);
  EXPECT_TRUE(attempts_.any_left_over());
  attempts_.answered(id_);
  EXPECT_FALSE(attempts_.any_left_over());
}

TEST_F(PostgresAttempts, InDoubtAreTakenBackAlsoWhereNoneIsOnItsWay) {
  static_cast<void>(attempts_.sent(id_));
  attempts_.answered(id_);
  attempts_.executed_in_doubt(id_, Instant{1h});
  EXPECT_TRUE(attempts_.cancelled(operation_));
}

// So long the server refuses late copies; later ones do not exist.
TEST_F(PostgresAttempts, OfABrokenConnectionAreForgottenInTime) {
  const Instant then{1h};
  attempts_.unanswered(id_, then);
  ASSERT_TRUE(attempts_.copies(id_).older);
  attempts_.unanswered(AttemptId{1, 2, 5}, then + 5min);
  EXPECT_TRUE(attempts_.copies(id_).older);
  attempts_.unanswered(AttemptId{1, 2, 5}, then + 7min);
  EXPECT_FALSE(attempts_.copies(id_).older);
}

}  // namespace
}  // namespace mortise::postgres
