// SPDX-License-Identifier: MIT
// Goal: who waits, and is told of a free name, asks once at a time, and misses nothing. Method: the
// table of attempts alone.
#include "postgres/attempts.hpp"
#include "support/own_time.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace mortise::postgres {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PostgresAttempts : public ::testing::Test {
 protected:
  using InVain = Attempts::InVain;
  void SetUp() override { ASSERT_TRUE(attempts_.wanted(operation_)); }
  static constexpr Instant start{1h};
  static constexpr remote::ServerTime at{1'700'000'000'000'000};  ///< of the server, at `start`
  /// Its connection broke at `start`. The server ignores the request a second later.
  void lose(std::uint64_t clock = 7) {
    attempts_.unanswered(operation_, {.after = at + 1s, .clock = clock, .noted = start},
                         start + 1s);
  }
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
  attempts_.sent(id_);
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
  lose();
  EXPECT_TRUE(attempts_.sent_alone(id_));
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
  attempts_.sent(id_);
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
    if (counted) attempts_.sent(id_);
    EXPECT_TRUE(attempts_.anybody_waits());
    late->granted({.number = 1});
    counted ? attempts_.not_sent(id_) : attempts_.not_wanted(id_);
    EXPECT_FALSE(attempts_.anybody_waits());
    EXPECT_FALSE(attempts_.any_left_over());
  }
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
  attempts_.sent(id_);
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
  std::uint64_t next = 1;
  const auto some = [&] {
    for (std::uint64_t i = 0; i < part; ++i) {
      attempts_.unanswered(
          std::make_shared<Acquisition>(Acquisition::Request{.attempt = AttemptId{1, 2, next++}}),
          {.after = at, .clock = 7, .noted = start}, start);
    }
  };
  const auto first = test::own_duration_of(some);
  while (next <= many - part) some();
  const auto last = test::least_duration_of(first * 10, some);
  EXPECT_LT(last, first * 10 + 5ms);
}

// Another copy may be granted yet what the first one was refused: close() waits for its answer.
TEST_F(PostgresAttempts, AreLeftOverWhereAnotherCopyIsOnItsWayWhenTheyAreDecided) {
  attempts_.sent(id_);
  attempts_.sent(id_);
  attempts_.answered(id_);
  EXPECT_FALSE(attempts_.any_left_over()) << "it is wanted";
  attempts_.decided(id_);
  EXPECT_TRUE(attempts_.any_left_over());
  attempts_.sent(id_);
  attempts_.answered(id_);
  EXPECT_TRUE(attempts_.any_left_over());
  lose();
  EXPECT_FALSE(attempts_.any_left_over());
}

// An answer that makes no sense ends one request, and what it has taken is to be taken back; of the
// other copy the answer is still to come.
TEST_F(PostgresAttempts, InDoubtAreTakenBackAndTheirOtherCopiesAwaited) {
  attempts_.sent(id_);
  attempts_.sent(id_);
  attempts_.answered(id_);
  attempts_.executed_in_doubt(operation_, {.after = at, .clock = 7, .noted = start});
  EXPECT_TRUE(attempts_.cancelled(operation_));
  attempts_.decided(id_);
  EXPECT_TRUE(attempts_.any_left_over());
  attempts_.answered(id_);
  EXPECT_FALSE(attempts_.any_left_over());
}

TEST_F(PostgresAttempts, InDoubtAreTakenBackAlsoWhereNoneIsOnItsWay) {
  attempts_.sent(id_);
  attempts_.answered(id_);
  attempts_.executed_in_doubt(operation_, {.after = at, .clock = 7, .noted = start});
  EXPECT_TRUE(attempts_.cancelled(operation_));
}

// Promise: S5
TEST_F(PostgresAttempts, AreLookedAtOnceTheyAreDecidedAndTheirLostRequestIsVoid) {
  attempts_.sent(id_);
  lose();
  EXPECT_TRUE(attempts_.is_in_doubt(id_));
  EXPECT_EQ(attempts_.next_look(), start + 1s);
  EXPECT_THAT(attempts_.looks(start + 1s), IsEmpty()) << "its next request shows it";
  EXPECT_FALSE(attempts_.any_looks(start + 1s));
  attempts_.decided(id_);
  EXPECT_FALSE(attempts_.any_looks(start));
  EXPECT_THAT(attempts_.looks(start + 1s - 1ns), IsEmpty()) << "the request may still arrive";
  EXPECT_THAT(attempts_.looks(start + 1s), ElementsAre(operation_));
  EXPECT_THAT(attempts_.looks(start + 1s), IsEmpty()) << "one look is enough";
  EXPECT_TRUE(attempts_.any_looks(start + 1s)) << "it is on its way";
  attempts_.put_back(id_);
  EXPECT_THAT(attempts_.looks(start + 1s), ElementsAre(operation_));
}

// Promise: S5
TEST_F(PostgresAttempts, AreLookedAtAgainIfTheServerLookedBeforeTheVoidMoment) {
  lose();
  attempts_.decided(id_);
  ASSERT_THAT(attempts_.looks(start + 1s), ElementsAre(operation_));
  attempts_.executed(operation_, at + 900ms, 7, start + 1s);
  EXPECT_TRUE(attempts_.is_in_doubt(id_)) << "the clock of the server is slow";
  EXPECT_EQ(attempts_.next_look(), start + 1s + 102ms);
  ASSERT_THAT(attempts_.looks(start + 1s + 102ms), ElementsAre(operation_));
  attempts_.executed(operation_, at + 1s + 1us, 7, start + 1s + 103ms);
  EXPECT_FALSE(attempts_.is_in_doubt(id_));
  EXPECT_FALSE(attempts_.any_looks(start + 2s));
}

// A standby was promoted. Its clock proves nothing about the clock of its primary.
TEST_F(PostgresAttempts, LostAtAnotherServerAreLookedAtTwoSecondsLater) {
  lose();
  attempts_.decided(id_);
  ASSERT_THAT(attempts_.looks(start + 1s), ElementsAre(operation_));
  attempts_.executed(operation_, at + 1h, 8, start + 1s);
  ASSERT_THAT(attempts_.looks(start + 2s + 2ms), ElementsAre(operation_));
  attempts_.executed(operation_, at - 1h, 8, start + 2s + 3ms);
  EXPECT_FALSE(attempts_.is_in_doubt(id_));
}

TEST_F(PostgresAttempts, InDoubtAreTakenBackAsSoonAsTheyAreDecided) {
  attempts_.executed_in_doubt(operation_, {.after = at + 1s, .clock = 7, .noted = start});
  attempts_.decided(id_);
  EXPECT_THAT(attempts_.looks(start), ElementsAre(operation_));
}

// A client that closes does not wait for their moment.
TEST_F(PostgresAttempts, AreLookedAtAtOnceWhenTheClientCloses) {
  lose();
  attempts_.decided(id_);
  attempts_.hurry(start);
  EXPECT_TRUE(attempts_.any_looks(start));
  ASSERT_THAT(attempts_.looks(start), ElementsAre(operation_));
  EXPECT_TRUE(attempts_.any_looks(start));
  attempts_.executed(operation_, at, 7, start);
  EXPECT_FALSE(attempts_.any_looks(start));
}

TEST_F(PostgresAttempts, KnowWhichReleaseMayHaveBeenExecuted) {
  EXPECT_FALSE(attempts_.release_in_doubt(id_));
  attempts_.release_unanswered(id_, start);
  EXPECT_TRUE(attempts_.release_in_doubt(id_));
  attempts_.release_unanswered(AttemptId{1, 2, 4}, start + 5min);
  EXPECT_TRUE(attempts_.release_in_doubt(id_));
  attempts_.release_unanswered(AttemptId{1, 2, 4}, start + 7min);
  EXPECT_FALSE(attempts_.release_in_doubt(id_));
}

}  // namespace
}  // namespace mortise::postgres
