// SPDX-License-Identifier: MIT
// Goal: a client looks for the hold that a lost request may have taken, when the server ignores
// that request, and no longer than it can exist. Method: the table of attempts alone, event by
// event, with the clock handed in.
#include "unit/remote_courses_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RemoteLostRequests : public CoursesFixture {
 protected:
  static constexpr ServerTime at{1'700'000'000'000'000};  ///< of the server, at `start`

  [[nodiscard]] Table::Operations looks(Instant now) { return table_.begin_looks(now, false); }
  void fail_look() {
    table_.on(id_of(1), [](Entry& entry) { entry.course.lost().fail_look(); });
  }
  void give_up() {
    table_.on(id_of(1), [](Entry& entry) { entry.course.lost().clear(); });
  }
  [[nodiscard]] bool is_unresolved() const {
    return table_.ask(id_of(1), [](const auto& course) { return course.is_unresolved(); });
  }
  void wait() {
    table_.on(id_of(1), [](Entry& entry) { entry.course.wait(); });
  }
  /// Its connection broke at `start`. The server ignores the request a second later.
  void lose(const std::shared_ptr<Acquisition>& taker, std::uint64_t clock = 7) {
    table_.request_lost(taker, {.after = at + 1s, .clock = clock, .noted = start}, start + 1s);
  }
};

// A message decided it while it asked once more. If that grant was over when the request came, the
// request took the lock again.
TEST_F(RemoteLostRequests, AreLookedAtOnceTheirAttemptIsDecidedAndTheRequestIsVoid) {
  table_.asked(one_, 1);
  wait();
  lose(one_);
  EXPECT_EQ(table_.next_look(), never) << "its next request shows it";
  EXPECT_TRUE(is_unresolved());
  EXPECT_THAT(looks(start + 1s), IsEmpty());
  EXPECT_FALSE(table_.is_any_pending(start + 1s));
  hold(1);
  EXPECT_EQ(table_.next_look(), start + 1s);
  EXPECT_TRUE(table_.is_any_pending(start));
  EXPECT_EQ(table_.begin_look(id_of(1), start + 1s - 1ns), nullptr) << "it may still arrive";
  EXPECT_EQ(table_.begin_look(id_of(1), start + 1s), one_);
  EXPECT_THAT(looks(start + 1s), IsEmpty()) << "one look is enough";
  fail_look();
  EXPECT_EQ(table_.next_look(), never) << "without a connection it would fail again";
  EXPECT_THAT(looks(start + 1s), IsEmpty());
  EXPECT_THAT(table_.begin_looks(start + 1s, true), ElementsAre(one_));
}

// Promise: S5
TEST_F(RemoteLostRequests, AreLookedAtAgainIfTheServerLookedBeforeTheVoidMoment) {
  table_.asked(one_, 1);
  lose(one_);
  table_.over(id_of(1));
  ASSERT_THAT(looks(start + 1s), ElementsAre(one_));
  EXPECT_TRUE(table_.executed(id_of(1), at + 900ms, 7, start + 1s)) << "its clock is slow";
  EXPECT_THAT(looks(start + 1s + 100ms), IsEmpty());
  EXPECT_EQ(table_.next_look(), start + 1s + 102ms);
  ASSERT_THAT(looks(start + 1s + 102ms), ElementsAre(one_));
  EXPECT_FALSE(table_.executed(id_of(1), at + 1s + 1us, 7, start + 1s + 103ms));
  EXPECT_FALSE(is_unresolved());
  EXPECT_FALSE(table_.is_any_pending(start + 2s));
}

// The slot of the name has gone to another server. A request or a look is lost there.
// Promise: S5
TEST_F(RemoteLostRequests, OfOneServerAreNotForgottenForThoseOfAnother) {
  for (const ServerTime after : {at + 1s, ServerTime{}}) {  // a look takes nothing
    lose(one_);
    table_.request_lost(one_, {.after = after, .clock = 8, .noted = start + 100ms}, start + 100ms);
    ASSERT_THAT(looks(start + 1s), ElementsAre(one_));
    EXPECT_TRUE(table_.executed(id_of(1), at + 1h, 8, start + 1s)) << "the slot may come back";
    ASSERT_THAT(looks(start + 2s + 2ms), ElementsAre(one_));
    EXPECT_FALSE(table_.executed(id_of(1), at + 1h, 8, start + 2s + 3ms));
    EXPECT_FALSE(is_unresolved());
  }
}

// The moment says nothing by the clock of another server, to which the name has moved.
TEST_F(RemoteLostRequests, OfAnotherServersClockAreVoidTwoSecondsLater) {
  lose(one_);
  ASSERT_THAT(looks(start + 1s), ElementsAre(one_));
  EXPECT_TRUE(table_.executed(id_of(1), at + 1h, 8, start + 1s));
  ASSERT_THAT(looks(start + 2s + 2ms), ElementsAre(one_));
  EXPECT_FALSE(table_.executed(id_of(1), at - 1h, 8, start + 2s + 3ms));
  EXPECT_FALSE(is_unresolved());
}

// On a slow connection a request had four seconds for its answer.
TEST_F(RemoteLostRequests, OfASlowConnectionAreVoidLaterByAnotherServersClock) {
  EXPECT_EQ(VoidMoment::lasts_for(500ms), 2s);
  const VoidMoment slow{
      .after = at + 4s, .clock = 7, .noted = start, .lasts = VoidMoment::lasts_for(4s)};
  table_.request_lost(one_, slow, start + 4s);
  table_.request_lost(one_, {.after = at + 1s, .clock = 7, .noted = start}, start + 1s);
  ASSERT_THAT(looks(start + 4s), ElementsAre(one_));
  EXPECT_TRUE(table_.executed(id_of(1), at + 1h, 8, start + 4s));
  EXPECT_EQ(table_.next_look(), start + 5s + 2ms);
}

TEST_F(RemoteLostRequests, AreRepeatedNowAndThenIfTheClockWasSetBackAndNotForEver) {
  lose(one_);
  ASSERT_THAT(looks(start + 1s), ElementsAre(one_));
  EXPECT_TRUE(table_.executed(id_of(1), at - 1h, 7, start + 1s));
  EXPECT_EQ(table_.next_look(), start + 3s + 2ms);
  EXPECT_TRUE(table_.is_any_pending(start + 2min));
  EXPECT_FALSE(table_.is_any_pending(start + 2min + 1ns));
  EXPECT_FALSE(table_.executed(id_of(1), at - 1h, 7, start + 2min + 1ns));
}

TEST_F(RemoteLostRequests, AreTheLastOfSeveralLostRequests) {
  lose(one_);
  table_.request_lost(one_, {.after = at + 5s, .clock = 7, .noted = start + 4s}, start + 5s);
  EXPECT_THAT(looks(start + 1s), IsEmpty());
  ASSERT_THAT(looks(start + 5s), ElementsAre(one_));
  EXPECT_TRUE(table_.executed(id_of(1), at + 2s, 7, start + 5s));
}

// close() would wait for it.
TEST_F(RemoteLostRequests, ThatAreRefusedForGoodAreWaitedForNoMore) {
  lose(one_);
  ASSERT_EQ(table_.begin_look(id_of(1), start + 1s), one_);
  EXPECT_TRUE(table_.is_any_pending(start));
  give_up();
  EXPECT_FALSE(table_.is_any_pending(start));
  EXPECT_FALSE(is_unresolved());
}

TEST_F(RemoteLostRequests, AReleaseIsInDoubtByTheNumberOfItsHold) {
  table_.asked(one_, 1);
  hold(1);
  table_.release_lost(hold_of(1, 78), start);
  EXPECT_FALSE(table_.released(id_of(1), 78)) << "another one was given back";
  table_.release_lost(hold_of(1), start);
  EXPECT_TRUE(table_.released(id_of(1), 77));
  EXPECT_FALSE(table_.released(id_of(1), 77)) << "it was answered";
}

// It was read, and then there was no memory to pass it on: the release is repeated.
TEST_F(RemoteLostRequests, AReleaseIsInDoubtWhoseAnswerWasReadInVain) {
  table_.asked(one_, 1);
  hold(1);
  EXPECT_FALSE(table_.released(id_of(1), 77));
  table_.release_lost(hold_of(1), start);
  EXPECT_TRUE(table_.released(id_of(1), 77));
  EXPECT_EQ(table_.size(), 0U);
}

}  // namespace
}  // namespace mortise::remote
