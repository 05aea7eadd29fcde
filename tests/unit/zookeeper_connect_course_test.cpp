// SPDX-License-Identifier: MIT
// Goal: a session tries its servers in turn, pauses after a round, pauses longer after each
// failure, and never connects without a pause to a server that greets and answers nothing. Method:
// known orders of events; the time is given.
#include "remote/backoff.hpp"
#include "unit/zookeeper_time.hpp"
#include "zookeeper/connect_course.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace mortise::zookeeper {
namespace {

using namespace std::chrono_literals;
using State = ConnectCourse::State;

class ZooKeeperConnectCourse : public ::testing::Test {
 protected:
  void come_up(std::chrono::milliseconds time) {
    course_.connect(at(time));
    course_.came_up(6s);
  }
  /// @return how long it waits from then on.
  [[nodiscard]] std::chrono::nanoseconds pause(std::chrono::milliseconds time) const {
    EXPECT_EQ(course_.state(), State::waiting);
    return course_.limit() - at(time);
  }

  ConnectCourse course_{9s, 7};
};

TEST_F(ZooKeeperConnectCourse, EachStateHasItsTime) {
  EXPECT_EQ(course_.state(), State::idle);
  EXPECT_EQ(course_.limit(), never);
  course_.look_up(at(0ms));
  EXPECT_EQ(course_.state(), State::looking_up);
  EXPECT_EQ(course_.limit(), at(2s));
  course_.connect(at(1s));
  EXPECT_EQ(course_.state(), State::connecting);
  EXPECT_EQ(course_.limit(), at(3s)) << "at most two seconds";
  course_.came_up(3s);
  EXPECT_EQ(course_.state(), State::up);
  EXPECT_EQ(course_.limit(), never);
  EXPECT_EQ(course_.timeout(), 3s);
  EXPECT_EQ(course_.asked(), at(1s));
  course_.connect(at(5s));
  EXPECT_EQ(course_.limit(), at(6s)) << "a third of the session";
  course_.stop();
  EXPECT_EQ(course_.limit(), never);
}

// A round trip of 1.3 s: TCP, TLS, and the greeting.
TEST_F(ZooKeeperConnectCourse, EachStepThatTheServerAnswersHasAThirdOfTheSession) {
  course_.connect(at(0ms));
  EXPECT_EQ(course_.limit(), at(2s));
  course_.came_closer(at(1'300ms));
  EXPECT_EQ(course_.limit(), at(3'300ms));
  course_.came_closer(at(2'600ms));
  EXPECT_EQ(course_.limit(), at(4'600ms));
  course_.came_closer(at(4'500ms));
  EXPECT_EQ(course_.limit(), at(6s)) << "two thirds of the session of 9 s";
  course_.connect(at(7s));
  EXPECT_EQ(course_.limit(), at(9s)) << "another server has a time of its own";
}

TEST_F(ZooKeeperConnectCourse, SingleBytesHaveTwelveSecondsInAll) {
  ConnectCourse course{60s, 7};
  course.connect(at(0ms));
  for (int i = 1; i <= 11; ++i) course.came_closer(at(i * 1s));
  EXPECT_EQ(course.limit(), at(12s));
}

TEST_F(ZooKeeperConnectCourse, TriesEachServerBeforeItPauses) {
  course_.found(3);
  for (int round = 1; round <= 2; ++round) {
    for (int i = 0; i < 2; ++i) {
      course_.connect(at(0ms));
      course_.not_connected(at(1ms));
      EXPECT_EQ(pause(1ms), 0ms);
      EXPECT_FALSE(course_.looks_up_again());
    }
    course_.connect(at(0ms));
    course_.not_connected(at(1ms));
    EXPECT_GT(pause(1ms), 0ms);
    EXPECT_TRUE(course_.looks_up_again()) << "the names may mean others";
  }
}

TEST_F(ZooKeeperConnectCourse, PausesGrowUntilARequestIsAnswered) {
  for (int i = 0; i < 12; ++i) course_.not_found(at(0ms));
  EXPECT_GE(pause(0ms), remote::longest_pause / 2);
  come_up(0ms);
  course_.answered();
  course_.lost(at(10ms));
  EXPECT_LE(pause(10ms), remote::first_pause);
}

// Perhaps it serves only users that it knows.
TEST_F(ZooKeeperConnectCourse, AServerThatGreetsAndHangsUpIsNotAsuccess) {
  std::chrono::nanoseconds last{};
  for (int i = 0; i < 12; ++i) {
    come_up(0ms);
    course_.lost(at(10ms));
    last = pause(10ms);
  }
  EXPECT_GE(last, remote::longest_pause / 2);
  come_up(0ms);
  course_.lost(at(1'000ms));
  EXPECT_LE(pause(1'000ms), remote::first_pause) << "it was up for long";
}

TEST_F(ZooKeeperConnectCourse, AnUrgentCallerDoesNotWait) {
  course_.urge(at(0ms));
  EXPECT_EQ(course_.state(), State::idle);
  for (int i = 0; i < 12; ++i) course_.not_found(at(0ms));
  course_.urge(at(5ms));
  EXPECT_EQ(pause(5ms), 0ms);
  course_.look_up(at(6ms));
  course_.urge(at(7ms));
  EXPECT_EQ(course_.limit(), at(2'006ms)) << "it tries already";
}

// Or callers that try again and again would connect all the time.
TEST_F(ZooKeeperConnectCourse, UrgentCallersAreWorthTwoTriesPerSecondAfterTenSeconds) {
  for (int i = 0; i < 12; ++i) course_.not_found(at(0ms));
  course_.not_found(at(2'000ms));
  course_.urge(at(2'001ms));
  EXPECT_GE(pause(2'000ms), 100ms) << "a twentieth of the time";
  EXPECT_LT(pause(2'000ms), 150ms) << "and up to half as much again";
  course_.not_found(at(20'000ms));
  course_.urge(at(20'000ms));
  EXPECT_GE(pause(20'000ms), 500ms);
  EXPECT_LT(pause(20'000ms), 750ms);
}

TEST_F(ZooKeeperConnectCourse, HidesWhatItHasSeenOnceItsSessionMustBeOver) {
  come_up(0ms);
  course_.lost(at(0ms));
  course_.connect(at(6'000ms));
  EXPECT_FALSE(course_.hides_seen()) << "no server has turned it away";
  course_.turned_away(at(6'010ms));
  course_.not_connected(at(6'010ms));
  course_.connect(at(6'020ms));
  EXPECT_TRUE(course_.hides_seen()) << "the session lasts 6 s";
  course_.came_up(6s);
  course_.lost(at(7'000ms));
  course_.connect(at(14'000ms));
  EXPECT_FALSE(course_.hides_seen()) << "a server has accepted it since";
  course_.turned_away(at(14'000ms));
  course_.over(at(14'000ms), true);
  course_.connect(at(30'000ms));
  EXPECT_FALSE(course_.hides_seen()) << "this is another session";
}

// The server that reports it has room for the next one, however long no server could be reached.
TEST_F(ZooKeeperConnectCourse, AfterAnExpiredSessionTheNextOneBeginsAtOnce) {
  come_up(0ms);
  course_.answered();
  course_.lost(at(1'000ms));
  for (int i = 0; i < 12; ++i) course_.not_connected(at(2'000ms + i * 1s));
  course_.connect(at(20'000ms));
  course_.over(at(20'100ms), true);
  EXPECT_EQ(pause(20'100ms), 0ms);
  course_.urge(at(20'100ms));
  EXPECT_EQ(pause(20'100ms), 0ms);
}

TEST_F(ZooKeeperConnectCourse, ARefusalOrASessionThatWasNeverGrantedIsFollowedByAPause) {
  for (int i = 0; i < 12; ++i) {
    course_.connect(at(i * 1s));
    course_.over(at(i * 1s), true);
  }
  EXPECT_GE(pause(11'000ms), remote::longest_pause / 2) << "no server has granted one";
  come_up(12'000ms);
  course_.over(at(12'000ms), false);
  EXPECT_GE(pause(12'000ms), remote::longest_pause / 2) << "the server refuses the password";
}

TEST_F(ZooKeeperConnectCourse, AServerThatHangsUpAndLetsEachSessionExpireGetsPauses) {
  std::chrono::nanoseconds all{};
  for (int i = 0; i < 20; ++i) {
    come_up(i * 1s);
    course_.lost(at(i * 1s));
    all += pause(i * 1s);
    course_.connect(at(i * 1s));
    course_.over(at(i * 1s), true);
    EXPECT_GT(pause(i * 1s), 0ms);
    all += pause(i * 1s);
  }
  EXPECT_GE(all, 30 * remote::longest_pause / 2);
}

TEST_F(ZooKeeperConnectCourse, ASessionThatIsTurnedAwayHasItsTimeLeft) {
  come_up(0ms);
  course_.lost(at(1'000ms));
  course_.connect(at(1'010ms));
  course_.turned_away(at(1'020ms));
  course_.not_connected(at(1'020ms));
  course_.connect(at(6'999ms));
  EXPECT_FALSE(course_.hides_seen()) << "another server may lead on";
}

}  // namespace
}  // namespace mortise::zookeeper
