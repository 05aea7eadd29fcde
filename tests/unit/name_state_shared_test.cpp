// SPDX-License-Identifier: MIT
// Goal: readers share a name, join without asking, and never keep a writer out for longer than a
// turn. Method: events are fed to the state; no mutex, no thread, no server.
#include "unit/name_state_fixture.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace mortise::core {
namespace {

using namespace std::chrono_literals;
using Entry = NameState::Entry;
using Exit = NameState::Exit;

class NameStateShared : public NameStateFixture {
 protected:
  static std::shared_ptr<const Terms> terms(Mode mode) {
    return std::make_shared<Terms>(Terms{.lease = 30s, .label = "test", .mode = mode});
  }
  Waiter reader() { return {.owner = Owner::unique(), .terms = shared_}; }
  Waiter writer() { return {.owner = Owner::unique(), .terms = exclusive_}; }
  [[nodiscard]] Waiter again(const Waiter& waiter, const std::shared_ptr<const Terms>& how) const {
    return {.owner = waiter.owner, .terms = how};
  }
  Entry enter(Waiter& waiter, bool may_wait = true) {
    return state_.enter(waiter, may_wait, now_, turn_);
  }
  void grant(Waiter& waiter, std::uint64_t number = 7) {
    state_.granted(waiter, hold(waiter, number), state_.expect_grant(waiter.terms->mode));
  }
  void take(Waiter& waiter, std::uint64_t number = 7) {
    ASSERT_EQ(enter(waiter), Entry::ask);
    grant(waiter, number);
  }
  NameState::Departure leave(const Waiter& waiter) {
    return state_.unlock(waiter.owner, now_, turn_, waiter.terms->mode);
  }

  std::shared_ptr<const Terms> shared_ = terms(Mode::shared);
  std::shared_ptr<const Terms> exclusive_ = terms(Mode::exclusive);
};

TEST_F(NameStateShared, ReadersJoinAndTheLastOneReleases) {
  Waiter a = reader();
  Waiter b = reader();
  take(a);
  EXPECT_EQ(enter(b, false), Entry::joined);
  EXPECT_EQ(state_.live(), nullptr);
  EXPECT_EQ(state_.held_by(b.owner, Mode::shared)->token(), Token(7 * tokens_in_a_grant));
  EXPECT_EQ(state_.held_by(b.owner, Mode::exclusive), nullptr);
  const auto first = leave(a);
  EXPECT_EQ(first.exit, Exit::parted);
  EXPECT_EQ(first.ended->owner, a.owner);
  EXPECT_EQ(leave(a).exit, Exit::not_owner);
  const auto last = leave(b);
  EXPECT_EQ(last.exit, Exit::release);
  EXPECT_EQ(last.ended->number, 7U);
  EXPECT_EQ(state_.sharers(), nullptr);
}

TEST_F(NameStateShared, EachReaderCountsForItself) {
  Waiter a = reader();
  Waiter b = reader();
  take(a);
  ASSERT_EQ(enter(b), Entry::joined);
  Waiter deeper = again(a, shared_);
  EXPECT_EQ(enter(deeper, false), Entry::reentered);
  EXPECT_EQ(leave(a).exit, Exit::nested);
  EXPECT_EQ(leave(a).exit, Exit::parted);
  EXPECT_EQ(leave(b).exit, Exit::release);
}

TEST_F(NameStateShared, AWriterWaitsAndAReaderBehindItDoes) {
  Waiter a = reader();
  Waiter w = writer();
  Waiter b = reader();
  take(a);
  EXPECT_EQ(enter(w, false), Entry::busy);
  EXPECT_EQ(enter(w), Entry::wait);
  EXPECT_EQ(enter(b, false), Entry::busy) << "it would overtake the writer";
  EXPECT_EQ(enter(b), Entry::wait);
  EXPECT_EQ(served(), nullptr);
  const auto end = leave(a);
  EXPECT_EQ(end.exit, Exit::release);
  EXPECT_EQ(end.next, &w);
  EXPECT_EQ(served_after_release(), &w);
  grant(w, 8);
  EXPECT_EQ(served(), nullptr) << "nobody reads beside a writer";
  const auto written = leave(w);
  EXPECT_EQ(written.exit, Exit::release) << "a writer's hold is not passed to a reader";
  EXPECT_EQ(written.next, &b);
}

TEST_F(NameStateShared, AWriterThatLeavesLetsTheReadersBehindItIn) {
  Waiter a = reader();
  Waiter w = writer();
  Waiter b = reader();
  Waiter c = reader();
  Waiter last = writer();
  take(a);
  for (Waiter* const each : {&w, &b, &c, &last}) ASSERT_EQ(enter(*each), Entry::wait);
  EXPECT_EQ(served_after_leaving(w), &b);
  EXPECT_EQ(served(), &c);
  EXPECT_EQ(served(), nullptr);
  EXPECT_EQ(b.wakeup, Waiter::Wakeup::held);
  EXPECT_EQ(state_.sharers()->all().size(), 3U);
}

TEST_F(NameStateShared, AGrantIsForAllReadersThatLead) {
  Waiter a = reader();
  Waiter b = reader();
  Waiter w = writer();
  Waiter c = reader();
  ASSERT_EQ(enter(a), Entry::ask);
  for (Waiter* const each : {&b, &w, &c}) ASSERT_EQ(enter(*each), Entry::wait);
  grant(a);
  EXPECT_EQ(served(), &b);
  EXPECT_EQ(served(), nullptr) << "the next one waits behind a writer";
}

TEST_F(NameStateShared, NobodyJoinsWhatIsWanted) {
  Waiter a = reader();
  Waiter b = reader();
  Waiter c = reader();
  take(a);
  state_.sharers()->told(true, now_);
  EXPECT_EQ(enter(b), Entry::wait);
  EXPECT_EQ(served(), nullptr);
  state_.sharers()->told(false, now_ - 1ms);
  EXPECT_EQ(served(), nullptr) << "older news";
  Waiter deeper = again(a, shared_);
  EXPECT_EQ(enter(deeper), Entry::reentered) << "it has the name already";
  state_.sharers()->told(false, now_ + 1ms);
  EXPECT_EQ(served(), &b) << "the writer has given up";
  EXPECT_EQ(enter(c), Entry::joined);
}

TEST_F(NameStateShared, NewsAreAskedForOnceATurn) {
  Waiter a = reader();
  take(a);
  Sharers& sharers = *state_.sharers();
  now_ += 4ms;
  EXPECT_FALSE(sharers.wants_news(now_, turn_));
  now_ += 1ms;
  EXPECT_TRUE(sharers.wants_news(now_, turn_));
  EXPECT_FALSE(sharers.wants_news(now_, turn_)) << "it is under way";
  now_ += 5ms;
  EXPECT_FALSE(sharers.wants_news(now_, turn_)) << "and still is";
  sharers.answered(now_);
  EXPECT_FALSE(sharers.wants_news(now_, turn_)) << "right behind it";
  now_ += 5ms;
  EXPECT_TRUE(sharers.wants_news(now_, turn_)) << "the row was locked";
  now_ += command_timeout(shared_->lease);
  EXPECT_TRUE(sharers.wants_news(now_, turn_)) << "the answer may have been lost";
  sharers.answered(now_);
  sharers.told(false, now_);
  turn_.passes = 2;
  EXPECT_FALSE(sharers.wants_news(now_, turn_));
  EXPECT_FALSE(sharers.wants_news(now_, turn_));
  EXPECT_TRUE(sharers.wants_news(now_, turn_)) << "a turn is over by number, too";
}

// On PostgreSQL a renewal keeps the row locked until its flush. A client whose readers never paused
// had one behind the other there, and whoever read elsewhere could not even unlock.
// Promise: L7
TEST_F(NameStateShared, NewsTakeHalfOfTheTimeAtMost) {
  Waiter a = reader();
  take(a);
  Sharers& sharers = *state_.sharers();
  turn_.time = 0ms;
  ASSERT_TRUE(sharers.wants_news(now_, turn_));
  const Instant asked = now_;
  now_ += 15ms;
  EXPECT_FALSE(sharers.wants_news(now_, turn_)) << "one is under way";
  sharers.answered(now_);
  sharers.told(false, asked);
  EXPECT_FALSE(sharers.wants_news(asked + 30ms - 1ns, turn_)) << "as long again as it took";
  EXPECT_TRUE(sharers.wants_news(asked + 30ms, turn_));
}

// ZooKeeper proves leases by pulses, and so an answer tells of a moment that is seconds before the
// question. A writer waited there until nobody believed in that answer any more.
// Promise: L5
TEST_F(NameStateShared, WhatAnAnswerTellsOfMayLieLongBeforeTheQuestion) {
  Waiter a = reader();
  take(a);
  Sharers& sharers = *state_.sharers();
  for (const Nanos before : {1s, 10s}) {
    ASSERT_TRUE(sharers.wants_news(now_ += turn_.time, turn_));
    sharers.answered(now_ += 1ms);
    sharers.told(false, now_ - before);
  }
  now_ += turn_.time;
  EXPECT_TRUE(sharers.wants_news(now_, turn_));
}

TEST_F(NameStateShared, AHoldThatEndsByItselfIsJoinedInItsFirstTurnOnly) {
  shared_ = std::make_shared<Terms>(
      Terms{.lease = 30s, .renew = false, .label = "test", .mode = Mode::shared});
  Waiter a = reader();
  Waiter b = reader();
  Waiter c = reader();
  take(a);
  now_ += 4ms;
  EXPECT_EQ(enter(b), Entry::joined);
  now_ += 1ms;
  EXPECT_FALSE(state_.sharers()->wants_news(now_, turn_)) << "it must not be renewed";
  EXPECT_EQ(enter(c), Entry::wait);
}

TEST_F(NameStateShared, NotJoinedUnderOtherEndsOrShortOfTime) {
  Waiter a = reader();
  take(a);
  const auto other = [&](const Terms& terms) {
    Waiter waiter{.owner = Owner::unique(), .terms = std::make_shared<const Terms>(terms)};
    return enter(waiter, false);
  };
  EXPECT_EQ(other({.lease = 30s, .renew = false, .label = "test", .mode = Mode::shared}),
            Entry::busy);
  EXPECT_EQ(other({.lease = 30s, .max_hold = 40s, .label = "test", .mode = Mode::shared}),
            Entry::busy);
  EXPECT_EQ(other({.lease = 10s, .label = "other", .mode = Mode::shared}), Entry::joined);
  now_ += 20s;
  EXPECT_EQ(other(*shared_), Entry::busy) << "less than half of the lease is left";
}

TEST_F(NameStateShared, AnOwnerGoesOnAsAReader) {
  Waiter x = writer();
  Waiter b = reader();
  Waiter w = writer();
  take(x);
  ASSERT_EQ(enter(b), Entry::wait);
  ASSERT_EQ(enter(w), Entry::wait);
  Waiter reads = again(x, shared_);
  EXPECT_EQ(enter(reads, false), Entry::ask) << "nobody else can come in between";
  grant(reads, 8);
  EXPECT_EQ(served(), nullptr) << "it is a writer still";
  const auto end = leave(x);
  EXPECT_EQ(end.exit, Exit::release) << "passed, it would be beside its own reader";
  EXPECT_EQ(end.next, nullptr);
  EXPECT_EQ(served(), &b);
  EXPECT_EQ(served_after_release(), nullptr);
  EXPECT_EQ(leave(reads).exit, Exit::parted);
  const auto last = leave(b);
  EXPECT_EQ(last.next, &w);
}

TEST_F(NameStateShared, AnOwnerThatStopsReadingIsAnOwnerStill) {
  Waiter x = writer();
  Waiter w = writer();
  take(x);
  Waiter reads = again(x, shared_);
  take(reads, 8);
  ASSERT_EQ(enter(w), Entry::wait);
  const auto end = leave(reads);
  EXPECT_EQ(end.exit, Exit::release);
  EXPECT_EQ(end.next, nullptr);
  EXPECT_EQ(served_after_release(), nullptr);
  EXPECT_EQ(state_.held_by(x.owner, Mode::exclusive)->number, 7U);
  EXPECT_EQ(leave(x).exit, Exit::release) << "passed, its token would be below that of the reader";
}

// Promise: S1
TEST_F(NameStateShared, WhatAReaderIsAskedForBesideIsNotPassed) {
  // Two threads of one owner: one asks to read beside the hold that the other one lets go.
  Waiter x = writer();
  Waiter w = writer();
  take(x);
  ASSERT_EQ(enter(w), Entry::wait);
  Waiter reads = again(x, shared_);
  ASSERT_EQ(enter(reads), Entry::ask);
  const auto end = leave(x);
  EXPECT_EQ(end.exit, Exit::release) << "the server lets the reader in beside whoever has it";
  EXPECT_EQ(end.next, nullptr) << "the reader asks already";
  EXPECT_EQ(served_after_release(), nullptr);
  grant(reads, 8);
  EXPECT_EQ(state_.live(), nullptr);
  EXPECT_EQ(leave(reads).next, &w);
}

// Promise: L2
TEST_F(NameStateShared, WhoeverMayReadBesideItsOwnHoldAsksWhenNobodyElseDoes) {
  Waiter x = writer();
  Waiter b = reader();
  take(x);
  ASSERT_EQ(enter(b), Entry::wait);
  Waiter reads = again(x, shared_);
  Waiter twin = again(x, shared_);
  ASSERT_EQ(enter(reads), Entry::ask);
  ASSERT_EQ(enter(twin), Entry::wait);
  EXPECT_EQ(served_after_leaving(reads), &twin) << "it would wait until its own hold ends";
  EXPECT_EQ(twin.wakeup, Waiter::Wakeup::ask);
  EXPECT_EQ(served_after_leaving(twin), nullptr) << "the other one waits for that hold";
}

// The reader would wait for the hold of its own owner. If the other thread waits for the reader,
// that hold never ends. Promise: L2
TEST_F(NameStateShared, AReaderAsksAsSoonAsItsOwnerHasTheNameByAnotherCall) {
  for (const bool passed : {false, true}) {
    std::destroy_at(&state_);
    std::construct_at(&state_);
    Waiter before = writer();
    if (passed) take(before);
    Waiter x = writer();
    Waiter stranger = reader();
    Waiter reads = again(x, shared_);
    ASSERT_EQ(enter(x), passed ? Entry::wait : Entry::ask);
    ASSERT_EQ(enter(stranger), Entry::wait);
    ASSERT_EQ(enter(reads), Entry::wait);
    if (passed) {
      ASSERT_EQ(leave(before).exit, Exit::passed);
    } else {
      grant(x);
    }
    EXPECT_EQ(served(), &reads) << passed;
    EXPECT_EQ(reads.wakeup, Waiter::Wakeup::ask);
    EXPECT_EQ(served(), nullptr) << "the other reader waits for that hold";
    EXPECT_EQ(leave(x).exit, Exit::release) << "passed, it would be beside another owner's reader";
    EXPECT_EQ(served_after_release(), nullptr) << "the reader asks already";
    grant(reads, 8);
    EXPECT_EQ(served(), &stranger);
    state_.lose(generation_, false);
  }
}

TEST_F(NameStateShared, AReaderDoesNotBecomeAnOwner) {
  Waiter a = reader();
  take(a);
  Waiter upgrade = again(a, exclusive_);
  EXPECT_EQ(enter(upgrade), Entry::upgrade);
  EXPECT_EQ(enter(upgrade, false), Entry::upgrade);
  EXPECT_TRUE(state_.queue().empty());
  // With both it has the name.
  leave(a);
  state_.release_sent();
  Waiter x = again(a, exclusive_);
  take(x, 8);
  Waiter reads = again(a, shared_);
  take(reads, 9);
  EXPECT_EQ(enter(upgrade), Entry::reentered);
}

// Promise: S7
TEST_F(NameStateShared, ALossIsRememberedForEachReader) {
  Waiter a = reader();
  Waiter b = reader();
  Waiter gone = reader();
  take(a);
  ASSERT_EQ(enter(b), Entry::joined);
  ASSERT_EQ(enter(gone), Entry::joined);
  Waiter deeper = again(b, shared_);
  ASSERT_EQ(enter(deeper), Entry::reentered);
  leave(gone);
  Waiter w = writer();
  ASSERT_EQ(enter(w), Entry::wait);
  auto loss = state_.lose(generation_, false);
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->sharers.list().size(), 2U);
  EXPECT_EQ(served(), &w);
  EXPECT_EQ(state_.lost().find(gone.owner, Mode::shared), nullptr);
  for (const Waiter* const each : {&a, &b}) {
    Waiter tries = again(*each, shared_);
    EXPECT_EQ(enter(tries), Entry::lost);
    tries.terms = exclusive_;
    EXPECT_EQ(enter(tries), Entry::lost);
    EXPECT_EQ(state_.lost().find(each->owner, Mode::shared)->token, Token(7 * tokens_in_a_grant));
  }
  EXPECT_EQ(leave(a).exit, Exit::was_lost);
  EXPECT_EQ(leave(a).exit, Exit::not_owner);
  EXPECT_EQ(leave(b).exit, Exit::was_lost);
  EXPECT_TRUE(state_.lost().has_any_of(Mode::shared));
  EXPECT_EQ(leave(b).exit, Exit::was_lost);
  EXPECT_FALSE(state_.lost().has_any_of(Mode::shared));
}

TEST_F(NameStateShared, ALostOwnersReaderStands) {
  Waiter x = writer();
  take(x);
  Waiter reads = again(x, shared_);
  const std::uint64_t exclusive = generation_;
  take(reads, 8);
  Waiter b = reader();
  ASSERT_EQ(enter(b), Entry::wait);
  ASSERT_TRUE(state_.lose(exclusive, true));
  EXPECT_EQ(served(), &b);
  EXPECT_EQ(served_after_release(), nullptr);
  EXPECT_EQ(leave(x).exit, Exit::was_lost);
  EXPECT_EQ(leave(reads).exit, Exit::parted);
}

TEST_F(NameStateShared, NoWaiterComesWithAReleaseWhileAnotherReleaseHasNotLeft) {
  Waiter x = writer();
  take(x);
  Waiter reads = again(x, shared_);
  const std::uint64_t exclusive = generation_;
  take(reads, 8);
  Waiter w = writer();
  ASSERT_EQ(enter(w), Entry::wait);
  ASSERT_TRUE(state_.lose(exclusive, true));
  const auto last = leave(reads);
  EXPECT_EQ(last.exit, Exit::release);
  EXPECT_EQ(last.next, nullptr) << "it would ask without being the requester";
  EXPECT_EQ(served_after_release(), nullptr);
  EXPECT_EQ(served_after_release(), &w);
}

// Promise: S2
TEST_F(NameStateShared, AReadersTokenIsNotBelowThatOfItsOwnersLostHold) {
  Waiter a = writer();
  Waiter x = writer();
  take(a);
  ASSERT_EQ(enter(x), Entry::wait);
  ASSERT_EQ(leave(a).exit, Exit::passed);
  const Token exclusive = state_.live()->token();
  Waiter reads = again(x, shared_);
  ASSERT_EQ(enter(reads), Entry::ask);
  ASSERT_TRUE(state_.lose(1, false));
  grant(reads);  // with the number of the exclusive hold
  EXPECT_GE(state_.sharers()->hold().token(), exclusive);
}

TEST_F(NameStateShared, NobodyAsksBeforeTheReleaseHasLeft) {
  Waiter a = reader();
  Waiter b = reader();
  take(a);
  ASSERT_EQ(leave(a).exit, Exit::release);
  EXPECT_EQ(enter(b, false), Entry::busy);
  EXPECT_EQ(enter(b), Entry::wait);
  EXPECT_EQ(served(), nullptr);
  EXPECT_EQ(served_after_release(), &b);
}

TEST_F(NameStateShared, TwoThreadsOfOneReaderEnterTogether) {
  Waiter a = reader();
  Waiter w = writer();
  Waiter twin = again(a, shared_);
  ASSERT_EQ(enter(a), Entry::ask);
  ASSERT_EQ(enter(w), Entry::wait);
  ASSERT_EQ(enter(twin), Entry::wait);
  grant(a);
  EXPECT_EQ(served(), &twin) << "it has the name already, whoever waits";
  EXPECT_EQ(served(), nullptr);
  EXPECT_EQ(leave(a).exit, Exit::nested);
}

}  // namespace
}  // namespace mortise::core
