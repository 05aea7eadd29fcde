// SPDX-License-Identifier: MIT
// Goal: a call does the right thing at each step, and ends with the words that are true. Method:
// the machine without a thread, step by step; the time is an argument.
#include "core/acquire.hpp"

#include <gtest/gtest.h>

namespace mortise::core {
namespace {

using namespace std::chrono_literals;
using Do = Acquire::Do;
using End = Acquire::End;
using Why = Acquire::Why;
using Entry = NameState::Entry;
using Progress = Acquisition::Progress;
using Wakeup = Waiter::Wakeup;

constexpr Instant start{1h};
constexpr Nanos lease = 6s;  // of which a command has a sixth

Acquire one_try() { return Acquire({.began = start, .wait = 0s, .lease = lease}); }
Acquire waiter(Nanos wait, Nanos give_up = 0s) {
  return Acquire({.began = start, .wait = wait, .give_up = give_up, .lease = lease});
}
Acquire::View at(Nanos after) { return {.now = start + after}; }

/// A call that has asked the server.
Acquire asking(Nanos wait, Nanos since = 0s, Nanos give_up = 0s) {
  Acquire call = waiter(wait, give_up);
  EXPECT_EQ(call.step(Acquire::Begun{.view = at(since)}).what, Do::ask);
  EXPECT_EQ(call.step(Acquire::Asked{.last = start + since, .seed = 1}).what, Do::check);
  return call;
}
/// The same, and its time is up.
Acquire giving_up(Why why = Why::timeout, Nanos since = 0s) {
  Acquire call = asking(10s, since);
  Acquire::View view = at(why == Why::timeout ? 10s : 9s);
  view.alive = why != Why::closed;
  view.stopped = why == Why::cancelled;
  const Acquire::Action action = call.step(Acquire::Standing{.view = view});
  EXPECT_EQ(action.what, Do::pass_on);
  EXPECT_EQ(action.why, why);
  return call;
}

void expect_end(const Acquire::Action& action, Do what, End end, Why why = Why::none) {
  EXPECT_EQ(action.what, what);
  EXPECT_EQ(action.end, end);
  if (why != Why::none) {
    EXPECT_EQ(action.why, why);
  }
}

TEST(AcquireTest, ArrivesAsTheNameAllows) {
  EXPECT_EQ(Acquire::start().what, Do::enter);
  expect_end(one_try().step(Acquire::Entered{Entry::reentered}), Do::end, End::reentered);
  expect_end(one_try().step(Acquire::Entered{Entry::lost}), Do::end, End::lost);
  expect_end(one_try().step(Acquire::Entered{Entry::busy}), Do::end, End::contended, Why::timeout);
  expect_end(one_try().step(Acquire::Entered{Entry::busy, true}), Do::end, End::trouble);
  EXPECT_EQ(one_try().step(Acquire::Entered{Entry::ask}).what, Do::begin);
  EXPECT_EQ(waiter(1s).step(Acquire::Entered{Entry::wait}).what, Do::look);
}

TEST(AcquireTest, HasTheTimeThatItsCallerSays) {
  EXPECT_FALSE(one_try().may_wait());
  EXPECT_EQ(one_try().until(), start + 1s);
  EXPECT_TRUE(waiter(3s).may_wait());
  EXPECT_EQ(waiter(3s).until(), start + 3s);
  EXPECT_EQ(waiter(Nanos::max()).until(), never);
}

TEST(AcquireTest, WaitsForItsTurnAndNoLongerThanItMay) {
  Acquire call = waiter(3s);
  EXPECT_EQ(call.reason_to_leave(at(3s - 1ns)), Why::none);
  EXPECT_EQ(call.reason_to_leave(at(3s)), Why::timeout);
  EXPECT_EQ(call.reason_to_leave({.now = start, .stopped = true}), Why::cancelled);
  EXPECT_EQ(call.reason_to_leave({.now = start, .alive = false, .stopped = true}), Why::closed);
  const Acquire::Action sleep = call.step(Acquire::Turn{});
  EXPECT_EQ(sleep.what, Do::park);
  EXPECT_EQ(sleep.until, start + 3s);
  // Called at the last moment: that comes first.
  EXPECT_EQ(call.step(Acquire::Turn{Wakeup::ask, Why::timeout}).what, Do::begin);
  EXPECT_EQ(call.step(Acquire::Turn{Wakeup::held, Why::timeout}).what, Do::take_over);
  expect_end(call.step(Acquire::Turn{Wakeup::none, Why::timeout}), Do::end, End::contended,
             Why::timeout);
  expect_end(call.step(Acquire::Turn{Wakeup::none, Why::timeout, true}), Do::end, End::trouble);
  expect_end(call.step(Acquire::Turn{Wakeup::none, Why::cancelled, true}), Do::end, End::contended,
             Why::cancelled);
  expect_end(call.step(Acquire::Turn{Wakeup::none, Why::closed, true}), Do::end, End::closed);
}

TEST(AcquireTest, BelievesInAHoldThatItWasPassedOnlyIfThatStands) {
  expect_end(waiter(3s).step(Acquire::Passed{true, at(1s)}), Do::end, End::granted);
  EXPECT_EQ(waiter(3s).step(Acquire::Passed{false, at(1s)}).what, Do::enter);
  expect_end(waiter(3s).step(Acquire::Passed{false, {.alive = false}}), Do::end, End::closed);
}

TEST(AcquireTest, SendsNothingForACallerThatIsStoppedByThen) {
  const Acquire::View stopped{.now = start, .stopped = true};
  expect_end(waiter(3s).step(Acquire::Begun{.may_ask = false}), Do::leave, End::cannot_ask);
  expect_end(waiter(3s).step(Acquire::Begun{.view = stopped}), Do::leave, End::contended,
             Why::cancelled);
  // What was sent already has to be taken back.
  EXPECT_EQ(waiter(3s).step(Acquire::Begun{.asked = true, .view = stopped}).what, Do::ask);
}

TEST(AcquireTest, AsksAgainWhenNothingIsHeard) {
  Acquire call = asking(10s);
  Acquire::Action action = call.step(Acquire::Standing{.progress = Progress::sent, .view = at(0s)});
  EXPECT_EQ(action.what, Do::await);
  EXPECT_EQ(action.until, start + 1s);
  action = call.step(Acquire::Standing{.progress = Progress::sent, .view = at(1s)});
  EXPECT_EQ(action.what, Do::ask_again);
  EXPECT_EQ(call.step(Acquire::AskedAgain{start + 1s}).what, Do::check);
  action = call.step(Acquire::Standing{.progress = Progress::queued, .view = at(1s)});
  EXPECT_EQ(action.until, start + 2s);
  action = call.step(Acquire::Standing{.progress = Progress::queued, .view = at(9500ms)});
  EXPECT_EQ(action.what, Do::ask_again);
  EXPECT_EQ(call.step(Acquire::AskedAgain{start + 9500ms}).what, Do::check);
  action = call.step(Acquire::Standing{.progress = Progress::queued, .view = at(9500ms)});
  EXPECT_EQ(action.until, start + 10s) << "its time is up before that";
  action = call.step(Acquire::Standing{.done = true, .view = at(11s)});
  EXPECT_EQ(action.what, Do::settle) << "an answer counts, however late it is looked at";
}

TEST(AcquireTest, BearsTroubleForAWhileWhereItWouldWaitWithoutEnd) {
  Acquire call = asking(Nanos::max(), 0s, 5s);
  Acquire::Standing trouble{.in_trouble = true, .view = at(1s)};
  EXPECT_NE(call.step(trouble).what, Do::pass_on);
  EXPECT_EQ(call.trouble_since(), start + 1s);
  trouble.view = at(6s - 1ns);
  EXPECT_NE(call.step(trouble).what, Do::pass_on);
  trouble.view = at(6s);
  const Acquire::Action action = call.step(trouble);
  EXPECT_EQ(action.what, Do::pass_on);
  EXPECT_EQ(action.why, Why::timeout);
  EXPECT_NE(call.step(Acquire::Standing{.view = at(7s)}).what, Do::pass_on) << "it has passed";
  EXPECT_FALSE(call.trouble_since());
}

TEST(AcquireTest, CountsInheritedTroubleFromItsOwnArrival) {
  Acquire call = waiter(Nanos::max(), 5s);
  call.inherit(std::nullopt);
  EXPECT_FALSE(call.trouble_since());
  call.inherit(start - 3s);
  EXPECT_EQ(call.trouble_since(), start);
  call.inherit(start + 2s);
  EXPECT_EQ(call.trouble_since(), start + 2s);
}

TEST(AcquireTest, EndsAsItsAttemptIsDecided) {
  EXPECT_EQ(asking(10s).step(Acquire::Decided::granted).what, Do::accept);
  expect_end(asking(10s).step(Acquire::Decided::failed), Do::leave, End::failed);
  expect_end(asking(10s).step(Acquire::Decided::busy), Do::leave, End::contended, Why::timeout);
}

TEST(AcquireTest, EndsWithWhatIsRememberedOfAKey) {
  expect_end(asking(10s).step(Acquire::Decided::recorded), Do::leave, End::recorded);
  // By the answer of another caller of its process, also when its time is up by then.
  expect_end(waiter(3s).step(Acquire::Turn{.wakeup = Wakeup::told, .why = Why::timeout}), Do::end,
             End::recorded);
  // And one that came while the attempt was taken back.
  for (const Why why : {Why::timeout, Why::cancelled}) {
    expect_end(giving_up(why).step(Acquire::TakenBack{.recorded = true, .gone = true}), Do::leave,
               End::recorded);
  }
}

TEST(AcquireTest, AsksAnewWhereAGrantCannotBeBelievedAndThereIsTime) {
  using Accepted = Acquire::Accepted;
  expect_end(asking(10s).step(Accepted{Accepted::As::hold, at(1s)}), Do::end, End::granted);
  expect_end(asking(10s).step(Accepted{Accepted::As::closed, at(1s)}), Do::leave, End::closed);
  expect_end(asking(10s).step(Accepted{Accepted::As::nonsense, at(1s)}), Do::leave, End::nonsense);
  EXPECT_EQ(asking(10s).step(Accepted{Accepted::As::late, at(9s)}).what, Do::ask);
  expect_end(asking(10s).step(Accepted{Accepted::As::late, at(10s)}), Do::leave, End::too_late);
}

TEST(AcquireTest, PassesItsAttemptOnBeforeItTakesItBack) {
  using PassedOn = Acquire::PassedOn;
  using To = PassedOn::To;
  const Instant now = start + 10s;
  EXPECT_EQ(giving_up().step(PassedOn{.to = To::itself, .now = now}).what, Do::ask);
  EXPECT_EQ(giving_up().step(PassedOn{.to = To::nobody, .now = now}).what, Do::take_back);
  const PassedOn told{.to = To::successor, .queued = true, .now = now};
  const PassedOn untold{.to = To::successor, .now = now};
  const PassedOn troubled{.to = To::successor, .trouble = true, .queued = true, .now = now};
  expect_end(giving_up().step(told), Do::end, End::contended, Why::timeout);
  expect_end(giving_up().step(untold), Do::end, End::no_answer);
  expect_end(giving_up().step(troubled), Do::end, End::trouble);
  expect_end(giving_up(Why::cancelled).step(troubled), Do::end, End::contended, Why::cancelled);
  expect_end(giving_up(Why::closed).step(told), Do::end, End::closed);
}

TEST(AcquireTest, SaysWhatIsKnownOfAnAttemptThatItHasTakenBack) {
  using TakenBack = Acquire::TakenBack;
  const auto after = [](TakenBack event, Why why = Why::timeout) {
    event.now = start + 10s;
    return giving_up(why).step(event);
  };
  EXPECT_EQ(after({.granted = true, .gone = true}).what, Do::accept);
  expect_end(after({.gone = true, .progress = Progress::queued}), Do::leave, End::contended,
             Why::timeout);
  expect_end(after({.progress = Progress::queued}), Do::leave, End::contended, Why::timeout);
  expect_end(after({.gone = true, .progress = Progress::unsent}), Do::leave, End::no_answer);
  expect_end(after({.gone = true, .progress = Progress::sent}), Do::leave, End::no_answer);
  expect_end(after({.progress = Progress::sent}), Do::leave, End::in_doubt);
  expect_end(after({.trouble = true, .progress = Progress::sent}), Do::leave, End::in_doubt);
  expect_end(after({.trouble = true, .progress = Progress::queued}), Do::leave, End::trouble);
  expect_end(after({.trouble = true, .progress = Progress::sent}, Why::cancelled), Do::leave,
             End::contended, Why::cancelled);
  expect_end(after({.progress = Progress::sent}, Why::closed), Do::leave, End::closed);
}

TEST(AcquireTest, DoesNotBlameAServerThatHasNotHadItsTime) {
  // Others of this process held the name until now.
  Acquire call = giving_up(Why::timeout, 9500ms);
  expect_end(call.step(Acquire::TakenBack{.gone = true, .now = start + 10s}), Do::leave,
             End::contended, Why::timeout);
  Acquire patient = giving_up(Why::timeout, 1s);
  expect_end(patient.step(Acquire::TakenBack{.gone = true, .now = start + 10s}), Do::leave,
             End::no_answer);
}

}  // namespace
}  // namespace mortise::core
