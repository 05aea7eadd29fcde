// SPDX-License-Identifier: MIT
// Goal: who holds, who waits and who asks is decided right (S2, S7, L5, L6).
// Method: events are fed to the state; no mutex, no thread, no server.
#include "unit/name_state_fixture.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace mortise::core {
namespace {

using namespace std::chrono_literals;
using Entry = NameState::Entry;
using Exit = NameState::Exit;

class NameStateTest : public NameStateFixture {
 protected:
  static std::shared_ptr<const Terms> terms(Nanos lease = 30s) {
    return std::make_shared<Terms>(Terms{.lease = lease, .label = "test"});
  }
  Waiter waiter() { return {.owner = Owner::unique(), .terms = terms_}; }
  void take(Waiter& waiter) {
    ASSERT_EQ(state_.enter(waiter, true), Entry::ask);
    state_.granted(waiter, hold(waiter));
  }

  std::shared_ptr<const Terms> terms_ = terms();
};

TEST_F(NameStateTest, OneAsksAndTheOthersQueue) {
  Waiter a = waiter();
  Waiter b = waiter();
  Waiter c = waiter();
  EXPECT_EQ(state_.enter(a, true), Entry::ask);
  EXPECT_EQ(state_.enter(b, true), Entry::wait);
  EXPECT_EQ(state_.enter(c, false), Entry::busy);
  EXPECT_EQ(state_.requester(), &a);
  EXPECT_EQ(state_.queue().size(), 1U);
}

TEST_F(NameStateTest, ReentryCountsAndKeepsTheToken) {
  Waiter a = waiter();
  take(a);
  const Token token = state_.live()->token();
  Waiter again{.owner = a.owner, .terms = terms(1s)};
  EXPECT_EQ(state_.enter(again, false), Entry::reentered);
  EXPECT_EQ(state_.live()->token(), token);
  EXPECT_EQ(state_.live()->terms, terms_) << "the outermost options rule";
  EXPECT_EQ(state_.unlock(a.owner, now_, turn_).exit, Exit::nested);
  EXPECT_EQ(state_.unlock(a.owner, now_, turn_).exit, Exit::release);
  EXPECT_EQ(state_.unlock(a.owner, now_, turn_).exit, Exit::not_owner);
}

TEST_F(NameStateTest, StrangersDoNotUnlock) {
  Waiter a = waiter();
  take(a);
  EXPECT_EQ(state_.unlock(Owner::unique(), now_, turn_).exit, Exit::not_owner);
  EXPECT_NE(state_.live(), nullptr);
}

// Promise: L6
TEST_F(NameStateTest, PassedInOrderWithGrowingTokens) {
  Waiter a = waiter();
  Waiter b = waiter();
  Waiter c = waiter();
  take(a);
  ASSERT_EQ(state_.enter(b, true), Entry::wait);
  ASSERT_EQ(state_.enter(c, true), Entry::wait);
  const Token first = state_.live()->token();
  EXPECT_EQ(state_.unlock(a.owner, now_, turn_).exit, Exit::passed);
  EXPECT_EQ(b.wakeup, Waiter::Wakeup::held);
  EXPECT_EQ(c.wakeup, Waiter::Wakeup::none);
  EXPECT_GT(state_.live()->token(), first);
  EXPECT_EQ(state_.live()->owner, b.owner);
}

TEST_F(NameStateTest, ATurnEndsByNumberAndByTime) {
  Waiter a = waiter();
  Waiter b = waiter();
  take(a);
  ASSERT_EQ(state_.enter(b, true), Entry::wait);
  EXPECT_EQ(state_.unlock(a.owner, now_ + 5ms, turn_).exit, Exit::release);
  EXPECT_EQ(served_after_release(), &b);
  state_.granted(b, hold(b, 8));
  Waiter c = waiter();
  ASSERT_EQ(state_.enter(c, true), Entry::wait);
  turn_.passes = 0;
  EXPECT_EQ(state_.unlock(b.owner, now_, turn_).exit, Exit::release);
}

TEST_F(NameStateTest, NotPassedUnderOtherTermsOrShortOfTime) {
  Waiter a = waiter();
  Waiter other{.owner = Owner::unique(), .terms = terms(10s)};
  take(a);
  ASSERT_EQ(state_.enter(other, true), Entry::wait);
  EXPECT_EQ(state_.unlock(a.owner, now_, turn_).exit, Exit::release);

  NameState fresh;
  Waiter b = waiter();
  Waiter c = waiter();
  ASSERT_EQ(fresh.enter(b, true), Entry::ask);
  Hold old = hold(b);
  old.granted_at = now_ + 20s;  // the turn is young, the lease is not
  fresh.granted(b, std::move(old));
  ASSERT_EQ(fresh.enter(c, true), Entry::wait);
  EXPECT_EQ(fresh.unlock(b.owner, now_ + 20s, turn_).exit, Exit::release);
}

TEST_F(NameStateTest, NobodyAsksBeforeTheReleaseHasLeft) {
  Waiter a = waiter();
  Waiter b = waiter();
  take(a);
  ASSERT_EQ(state_.unlock(a.owner, now_, turn_).exit, Exit::release);
  EXPECT_EQ(state_.enter(b, true), Entry::wait);
  EXPECT_EQ(state_.requester(), nullptr);
  EXPECT_EQ(served_after_release(), &b);
  EXPECT_EQ(b.wakeup, Waiter::Wakeup::ask);
}

TEST_F(NameStateTest, TheNextAsksWhenTheRequesterLeaves) {
  Waiter a = waiter();
  Waiter b = waiter();
  ASSERT_EQ(state_.enter(a, true), Entry::ask);
  ASSERT_EQ(state_.enter(b, true), Entry::wait);
  EXPECT_EQ(served_after_leaving(a), &b);
  EXPECT_EQ(served_after_leaving(b), nullptr);
  Waiter c = waiter();
  EXPECT_EQ(state_.enter(c, false), Entry::ask) << "the name is idle again";
}

TEST_F(NameStateTest, WhoIsToldTheAnswerOfAnotherLeavesTheQueue) {
  Waiter a = waiter();
  Waiter b = waiter();
  Waiter c = waiter();
  Waiter d = waiter();
  EXPECT_FALSE(state_.busy());
  EXPECT_EQ(state_.enter(a, true), Entry::ask);
  EXPECT_TRUE(state_.busy());
  for (Waiter* const each : {&b, &c, &d}) EXPECT_EQ(state_.enter(*each, true), Entry::wait);
  state_.tell([&](const Waiter& each) { return &each != &c; });
  EXPECT_EQ(b.wakeup, Waiter::Wakeup::told);
  EXPECT_EQ(c.wakeup, Waiter::Wakeup::none);
  EXPECT_EQ(d.wakeup, Waiter::Wakeup::told);
  EXPECT_EQ(served_after_leaving(a), &c) << "it asks for itself";
  EXPECT_EQ(served_after_leaving(c), nullptr);
  EXPECT_FALSE(state_.busy());
}

// Promise: S7
TEST_F(NameStateTest, ALostHoldLeavesTheNameAndIsRemembered) {
  Waiter a = waiter();
  Waiter b = waiter();
  take(a);
  Waiter again{.owner = a.owner, .terms = terms_};
  ASSERT_EQ(state_.enter(again, true), Entry::reentered);
  ASSERT_EQ(state_.enter(b, true), Entry::wait);
  const Token token = state_.live()->token();
  EXPECT_FALSE(state_.lose(99, false).has_value()) << "another generation";
  const auto loss = state_.lose(generation_, false);
  ASSERT_TRUE(loss.has_value());
  EXPECT_EQ(served(), &b);
  EXPECT_EQ(state_.lost().find(a.owner)->token, token);
  EXPECT_EQ(state_.enter(again, true), Entry::lost);
  EXPECT_EQ(state_.unlock(a.owner, now_, turn_).exit, Exit::was_lost);
  EXPECT_EQ(state_.enter(again, true), Entry::lost) << "one unlock is owed still";
  EXPECT_EQ(state_.unlock(a.owner, now_, turn_).exit, Exit::was_lost);
  EXPECT_EQ(state_.unlock(a.owner, now_, turn_).exit, Exit::not_owner);
  state_.granted(b, hold(b, 8));
  EXPECT_EQ(state_.enter(again, true), Entry::wait);
}

TEST_F(NameStateTest, EachOwnerLearnsItsOwnLossOnly) {
  Waiter a = waiter();
  Waiter b = waiter();
  take(a);
  state_.live()->notice = std::make_unique<LossNotice>();
  const std::stop_token of_a = state_.live()->notice->lost.get_token();
  ASSERT_EQ(state_.enter(b, true), Entry::wait);
  const auto departure = state_.unlock(a.owner, now_, turn_);
  ASSERT_EQ(departure.exit, Exit::passed);
  EXPECT_NE(departure.ended->notice, nullptr);
  EXPECT_EQ(state_.live()->notice, nullptr);
  state_.live()->notice = std::make_unique<LossNotice>();
  const std::stop_token of_b = state_.live()->notice->lost.get_token();
  auto loss = state_.lose(generation_, false);
  loss->ended.notice->lost.request_stop();
  EXPECT_FALSE(of_a.stop_requested());
  EXPECT_TRUE(of_b.stop_requested());
  EXPECT_TRUE(state_.lost().find(b.owner)->stopped().stop_requested());
}

TEST_F(NameStateTest, TwoThreadsOfOneOwnerEnterTogether) {
  Waiter a = waiter();
  Waiter twin{.owner = a.owner, .terms = terms_};
  Waiter b = waiter();
  ASSERT_EQ(state_.enter(a, true), Entry::ask);
  ASSERT_EQ(state_.enter(b, true), Entry::wait);
  ASSERT_EQ(state_.enter(twin, true), Entry::wait);
  state_.granted(a, hold(a));
  EXPECT_EQ(served(), &twin);
  EXPECT_EQ(served(), nullptr);
  EXPECT_EQ(state_.live()->depth, 2U);
  EXPECT_EQ(state_.queue().size(), 1U);
}

TEST_F(NameStateTest, AThreadOfTheNextOwnerEntersWithIt) {
  Waiter a = waiter();
  Waiter b = waiter();
  Waiter twin{.owner = b.owner, .terms = terms_};
  take(a);
  ASSERT_EQ(state_.enter(b, true), Entry::wait);
  ASSERT_EQ(state_.enter(twin, true), Entry::wait);
  ASSERT_EQ(state_.unlock(a.owner, now_, turn_).next, &b);
  EXPECT_EQ(served(), &twin);
  EXPECT_EQ(served(), nullptr);
}

TEST_F(NameStateTest, CountsTheGuardsOfAHoldAndOfALoss) {
  Waiter a = waiter();
  Waiter b = waiter();
  take(a);
  state_.change_guards(a.owner, 1);
  state_.change_guards(a.owner, 1);
  state_.change_guards(b.owner, 1);
  EXPECT_EQ(state_.live()->guards, 2U);
  state_.change_guards(a.owner, -1);
  state_.change_guards(b.owner, -1);
  EXPECT_EQ(state_.live()->guards, 1U);
  state_.expect_grant();
  ASSERT_TRUE(state_.lose(state_.live()->generation, false));
  EXPECT_EQ(state_.lost().find(a.owner)->guards, 1U);
  state_.change_guards(a.owner, -1);
  state_.change_guards(a.owner, -1);
  EXPECT_EQ(state_.lost().find(a.owner)->guards, 0U);
}

TEST_F(NameStateTest, TheNextOwnerHasNoGuardOfTheOneBefore) {
  Waiter a = waiter();
  Waiter b = waiter();
  take(a);
  state_.change_guards(a.owner, 1);
  ASSERT_EQ(state_.enter(b, true), Entry::wait);
  ASSERT_EQ(state_.unlock(a.owner, now_, turn_).exit, Exit::passed) << "behind the guard's back";
  EXPECT_EQ(state_.live()->guards, 0U);
  state_.change_guards(a.owner, -1);
  EXPECT_EQ(state_.live()->guards, 0U);
}

TEST_F(NameStateTest, ForgetsTheLossesThatItIsToldTo) {
  Waiter a = waiter();
  Waiter b = waiter();
  take(a);
  ASSERT_TRUE(state_.lose(generation_, false));
  take(b);
  ASSERT_TRUE(state_.lose(generation_, false));
  state_.lost().forget_if([&](const LostHold& lost) { return lost.owner == a.owner; });
  EXPECT_EQ(state_.lost().find(a.owner), nullptr);
  EXPECT_NE(state_.lost().find(b.owner), nullptr);
  Waiter again{.owner = a.owner, .terms = terms_};
  EXPECT_EQ(state_.enter(again, false), Entry::ask);
}

// Promise: M1
TEST_F(NameStateTest, IsNotPassedBeforeItsMinHold) {
  terms_ = std::make_shared<Terms>(Terms{.lease = 30s, .label = "test", .min_hold = 2ms});
  for (const Nanos held : {Nanos(2ms - 1ns), Nanos(2ms)}) {
    NameState state;
    Waiter a = waiter();
    Waiter b = waiter();
    ASSERT_EQ(state.enter(a, true), Entry::ask);
    state.granted(a, hold(a));
    ASSERT_EQ(state.enter(b, true), Entry::wait);
    const Exit exit = state.unlock(a.owner, now_ + held, turn_).exit;
    EXPECT_EQ(exit, held < 2ms ? Exit::release : Exit::passed);
  }
}

TEST_F(NameStateTest, AnotherNumberOfPermitsIsRefused) {
  const Owner owner = Owner::unique();
  const auto asks = [&](std::uint32_t permits) {
    return Waiter{.owner = owner,
                  .terms = std::make_shared<Terms>(Terms{
                      .lease = 30s, .label = "test", .mode = Mode::permit, .permits = permits})};
  };
  Waiter first = asks(2);
  Waiter same = asks(2);
  Waiter other = asks(3);
  EXPECT_EQ(state_.enter(first, true), NameState::Entry::ask);
  EXPECT_EQ(state_.enter(other, true), NameState::Entry::differs) << "it is asked for";
  EXPECT_EQ(state_.enter(same, true), NameState::Entry::wait);
  EXPECT_EQ(served_after_leaving(first), &same);
  EXPECT_EQ(state_.enter(other, true), NameState::Entry::differs);
  EXPECT_EQ(served_after_leaving(same), nullptr);
  EXPECT_EQ(state_.enter(other, true), NameState::Entry::ask) << "an idle one has no number";
}

// A waiter that came while the release was about to leave would never be called.
// Promise: L2
TEST_F(NameStateTest, AReleaseThatLeavesUnseenIsOverWithoutTheMutex) {
  Waiter a = waiter();
  Waiter b = waiter();
  take(a);
  ASSERT_EQ(state_.unlock(a.owner, now_, turn_).exit, Exit::release);
  EXPECT_TRUE(state_.release_left_unseen());
  EXPECT_FALSE(state_.busy());
  take(a);
  ASSERT_EQ(state_.unlock(a.owner, now_, turn_).exit, Exit::release);
  ASSERT_EQ(state_.enter(b, true), Entry::wait);
  EXPECT_FALSE(state_.release_left_unseen());
  state_.release_sent();
  EXPECT_EQ(served(), &b);
  EXPECT_EQ(state_.requester(), &b);
}

TEST_F(NameStateTest, AReleaseBesideAWaiterNeverLeavesUnseen) {
  Waiter a = waiter();
  Waiter b = waiter();
  take(a);
  ASSERT_EQ(state_.enter(b, true), Entry::wait);
  turn_.passes = 0;
  ASSERT_EQ(state_.unlock(a.owner, now_, turn_).exit, Exit::release);
  EXPECT_FALSE(state_.release_left_unseen());
  state_.release_sent();
  EXPECT_EQ(served(), &b);
}

}  // namespace
}  // namespace mortise::core
