// SPDX-License-Identifier: MIT
// Goal: a connection is tried when it is wanted and not oftener than its pauses allow, no try lasts
// for ever, and what a thread decided in view of one connection does not pass for another. Method:
// the machine alone; the test is the socket and the clock.
#include "remote/backoff.hpp"
#include "remote/link.hpp"

#include <gtest/gtest.h>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

class RemoteLink : public ::testing::Test {
 protected:
  using State = Link::State;
  using End = Link::End;

  [[nodiscard]] Instant due() const {
    return link_.due([this] { return of_calls_; });
  }
  void come_up() {
    link_.begin(now_);
    for (const State state : {State::resolving, State::connecting, State::greeting}) {
      link_.enter(state);
    }
    link_.came_up(now_);
  }

  void fail() {
    static_cast<void>(link_.want(true));
    link_.begin(now_);
    link_.enter(State::connecting);
    link_.drop(now_);
  }

  Link link_{1};
  Instant now_{100s};
  Instant of_calls_ = never;
};

TEST_F(RemoteLink, DoesNothingUntilItIsWanted) {
  EXPECT_EQ(due(), never);
  EXPECT_FALSE(link_.is_to_begin(now_));
  EXPECT_FALSE(link_.is_outstanding(false));
  EXPECT_TRUE(link_.want(false));
  EXPECT_TRUE(link_.is_to_begin(now_));
  EXPECT_LE(due(), now_);
  EXPECT_TRUE(link_.is_outstanding(false));
  EXPECT_FALSE(link_.want(false)) << "that is known already";
}

TEST_F(RemoteLink, ATryLastsTwoSeconds) {
  static_cast<void>(link_.want(false));
  link_.begin(now_);
  link_.enter(State::resolving);
  EXPECT_EQ(due(), now_ + connect_time);
  EXPECT_EQ(link_.end(now_ + connect_time - 1ns), End::none);
  EXPECT_EQ(link_.end(now_ + connect_time), End::name_is_late);
  for (const State state : {State::connecting, State::greeting}) {
    link_.enter(state);
    EXPECT_EQ(due(), now_ + connect_time);
    EXPECT_EQ(link_.end(now_ + connect_time - 1ns), End::none);
    EXPECT_EQ(link_.end(now_ + connect_time), End::connection_is_late);
  }
  link_.next_server(now_ + 1s);
  EXPECT_EQ(due(), now_ + 1s + connect_time) << "another server has a time of its own";
}

// A distant server needs several round trips: for the connection, for TLS, for the password.
TEST_F(RemoteLink, EachStepThatTheServerAnswersHasTwoSeconds) {
  static_cast<void>(link_.want(false));
  link_.begin(now_);
  link_.enter(State::connecting);
  const Instant began = now_;
  for (int step = 0; step < 5; ++step) {
    now_ += 1900ms;
    EXPECT_EQ(link_.end(now_), End::none) << step;
    link_.came_closer(now_);
    if (step == 2) link_.enter(State::greeting);
  }
  EXPECT_EQ(due(), now_ + connect_time);
  EXPECT_EQ(link_.end(now_ + connect_time), End::connection_is_late) << "it is silent";
  now_ = began + longest_connect_time - 1s;
  link_.came_closer(now_);
  EXPECT_EQ(due(), began + longest_connect_time) << "it delivers a byte now and then";
  link_.next_server(now_);
  EXPECT_EQ(due(), now_ + connect_time);
}

// Whoever comes while it connects would end the try, and begin anew what was nearly done.
TEST_F(RemoteLink, IsNotTriedAnewWhileItConnects) {
  static_cast<void>(link_.want(false));
  link_.begin(now_);
  link_.enter(State::connecting);
  EXPECT_FALSE(link_.want(true));
  EXPECT_FALSE(link_.is_to_begin(now_));
  EXPECT_EQ(due(), now_ + connect_time);
}

TEST_F(RemoteLink, WhileItIsUpWhatIsUnderWaySaysWhenItIsDue) {
  static_cast<void>(link_.want(false));
  come_up();
  EXPECT_TRUE(link_.is_up());
  EXPECT_EQ(due(), never);
  EXPECT_EQ(link_.end(now_ + 1h), End::none);
  EXPECT_FALSE(link_.is_outstanding(false));
  EXPECT_TRUE(link_.is_outstanding(true));
  of_calls_ = now_ + 3s;
  EXPECT_EQ(due(), now_ + 3s);
}

TEST_F(RemoteLink, IsLookedAtWhenItIsSuspect) {
  static_cast<void>(link_.want(false));
  come_up();
  link_.suspect();
  EXPECT_LE(due(), now_);
  EXPECT_TRUE(link_.is_outstanding(false));
  EXPECT_TRUE(link_.is_up()) << "it may be sound";
  link_.looked();
  EXPECT_EQ(due(), never);
}

// A greeting of which nothing could be written would be waited for as long as a try may last.
TEST_F(RemoteLink, MayBreakBeforeItIsUp) {
  static_cast<void>(link_.want(false));
  link_.begin(now_);
  link_.enter(State::greeting);
  EXPECT_EQ(link_.end(now_), End::none);
  link_.mark_broken();
  EXPECT_EQ(link_.end(now_), End::broken);
  EXPECT_LE(due(), now_);
  link_.drop(now_);
  EXPECT_EQ(link_.end(now_), End::none);
  EXPECT_EQ(due(), never);
}

TEST_F(RemoteLink, IsNotUpOnceItIsBroken) {
  static_cast<void>(link_.want(false));
  come_up();
  link_.mark_broken();
  EXPECT_FALSE(link_.is_up());
  EXPECT_EQ(link_.state(), State::up) << "its reader has not dropped it yet";
  EXPECT_LE(due(), now_);
  EXPECT_TRUE(link_.is_outstanding(false));
  EXPECT_EQ(link_.end(now_), End::broken);
  link_.drop(now_);
  EXPECT_EQ(link_.end(now_), End::none);
  EXPECT_EQ(due(), never) << "nobody wants it any more";
}

// Or a server that admits and refuses at once would be connected to without a pause.
TEST_F(RemoteLink, WhatWasUpAndOfUseIsTriedAlmostAtOnce) {
  static_cast<void>(link_.want(false));
  come_up();
  link_.is_welcome();
  link_.made_sense();
  link_.drop(now_);
  static_cast<void>(link_.want(false));
  EXPECT_TRUE(link_.is_to_begin(now_ + 10ms));
  come_up();
  link_.drop(now_);  // by its user, which was told that it is up
  link_.is_welcome();
  static_cast<void>(link_.want(false));
  EXPECT_FALSE(link_.is_to_begin(now_ + 9ms));
  EXPECT_TRUE(link_.is_to_begin(now_ + 20ms));
}

TEST_F(RemoteLink, WhoGreetsAndHangsUpIsTriedEverLater) {
  const auto hear_the_greeting = [&](Instant::duration stands) {
    static_cast<void>(link_.want(false));
    come_up();
    link_.is_welcome();
    link_.drop(now_ += stands);
    static_cast<void>(link_.want(false));
  };
  for (int i = 0; i < 20; ++i) hear_the_greeting(10ms);
  EXPECT_FALSE(link_.is_to_begin(now_ + 499ms));
  hear_the_greeting(longest_pause);
  EXPECT_TRUE(link_.is_to_begin(now_ + 10ms)) << "it has stood long enough";
}

// Whoever may publish may send rubbish, and for days nothing else may come.
TEST_F(RemoteLink, WhatHasStoodIsNoWorseForANonsenseNowAndThen) {
  for (int i = 0; i < 20; ++i) {
    static_cast<void>(link_.want(false));
    come_up();
    link_.is_welcome();
    now_ += 24h;
    link_.made_no_sense();
    link_.drop(now_);
    static_cast<void>(link_.want(false));
    EXPECT_TRUE(link_.is_to_begin(now_ + 10ms)) << i;
  }
}

TEST_F(RemoteLink, WhoAnswersWithNonsenseIsTriedEverLater) {
  const auto hear_nonsense = [&] {
    static_cast<void>(link_.want(false));
    come_up();
    link_.is_welcome();
    link_.made_no_sense();
    link_.drop(now_);
    static_cast<void>(link_.want(false));
  };
  for (int i = 0; i < 20; ++i) hear_nonsense();
  EXPECT_FALSE(link_.is_to_begin(now_ + 499ms));
  come_up();
  link_.is_welcome();
  link_.made_sense();
  hear_nonsense();
  EXPECT_TRUE(link_.is_to_begin(now_ + 20ms)) << "it has made sense since";
}

TEST_F(RemoteLink, PausesDouble) {
  for (int i = 0; i < 20; ++i) fail();
  EXPECT_TRUE(link_.want(false));
  EXPECT_FALSE(link_.is_to_begin(now_ + 499ms));
  EXPECT_TRUE(link_.is_to_begin(now_ + 1s));
}

TEST_F(RemoteLink, ANewRequestWaitsATwentiethOfTheTimeWithoutAGoodConnection) {
  for (int i = 0; i < 20; ++i) fail();
  EXPECT_TRUE(link_.want(false));
  EXPECT_TRUE(link_.want(true)) << "it is due earlier";
  EXPECT_TRUE(link_.is_to_begin(now_)) << "it has failed for no time";
  now_ += 2s;
  fail();
  EXPECT_FALSE(link_.is_to_begin(now_)) << "the request was for one try";
  static_cast<void>(link_.want(true));
  EXPECT_FALSE(link_.is_to_begin(now_ + 99ms));
  EXPECT_TRUE(link_.is_to_begin(now_ + 150ms)) << "and up to half as much again";
}

// Or callers that try again and again would connect all the time.
TEST_F(RemoteLink, NewRequestsAreWorthTwoTriesPerSecondAfterTenSeconds) {
  for (int i = 0; i < 20; ++i) fail();
  const auto tries_within = [&](Instant::duration time) {
    int tries = 0;
    for (const Instant end = now_ + time; now_ < end; now_ += 1ms) {
      static_cast<void>(link_.want(true));
      if (!link_.is_to_begin(now_)) continue;
      fail();
      ++tries;
    }
    return tries;
  };
  EXPECT_GT(tries_within(10s), 40);
  EXPECT_LE(tries_within(10s), 20);
  static_cast<void>(link_.want(false));
  come_up();
  link_.is_welcome();
  link_.made_sense();
  link_.drop(now_);
  static_cast<void>(link_.want(true));
  EXPECT_TRUE(link_.is_to_begin(now_)) << "the connection was of use";
}

TEST_F(RemoteLink, AnIdleTimeIsNoFailure) {
  come_up();
  link_.is_welcome();
  link_.made_sense();
  link_.drop(now_);
  now_ += 600s;  // no request comes
  fail();
  static_cast<void>(link_.want(true));
  EXPECT_TRUE(link_.is_to_begin(now_));
}

TEST_F(RemoteLink, ANewRequestNeverWaitsLongerThanARepeatedOne) {
  for (int i = 0; i < 4; ++i) {
    fail();
    now_ += 2s;
  }
  static_cast<void>(link_.want(false));
  const Instant repeated = due();
  static_cast<void>(link_.want(true));
  EXPECT_LE(due(), repeated);
}

TEST_F(RemoteLink, AnotherServerIsConnectedToWithoutAPause) {
  for (int i = 0; i < 20; ++i) {
    fail();
    now_ += 1s;
  }
  come_up();
  link_.lead_elsewhere();
  link_.mark_broken();
  link_.drop(now_);
  EXPECT_TRUE(link_.want(true));
  EXPECT_TRUE(link_.is_to_begin(now_));
  link_.begin(now_);
  link_.enter(State::connecting);
  link_.drop(now_);
  EXPECT_TRUE(link_.want(true));
  EXPECT_TRUE(link_.is_to_begin(now_)) << "its first failure";
}

TEST_F(RemoteLink, ThatWasLeftInPeaceIsTriedAtOnce) {
  static_cast<void>(link_.want(false));
  come_up();
  link_.is_welcome();
  link_.leave();
  EXPECT_EQ(due(), never);
  EXPECT_TRUE(link_.want(false));
  EXPECT_TRUE(link_.is_to_begin(now_));
}

}  // namespace
}  // namespace mortise::remote
