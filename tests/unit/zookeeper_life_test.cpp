// SPDX-License-Identifier: MIT
// Goal: what answers prove of a session's life is never more than the leader has heard, and not
// less than it must have. Method: known orders of answers, and random ones against a follower and a
// leader that are played out.
#include "model/seed.hpp"
#include "unit/zookeeper_time.hpp"
#include "zookeeper/life.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

namespace mortise::zookeeper {
namespace {

using namespace std::chrono_literals;

class ZooKeeperLife : public ::testing::Test {
 protected:
  ZooKeeperLife() { life_.set_report(1s); }
  /// A request of each kind, which takes ten milliseconds.
  void read(std::chrono::milliseconds time) { life_.answered(at(time), at(time + 10ms)); }
  void sync(std::chrono::milliseconds time) {
    life_.passed(at(time));
    read(time);
  }
  void write(std::chrono::milliseconds time) {
    const Instant known = life_.known();
    life_.passed(at(time));
    life_.committed(known, at(time), at(time + 10ms));
    read(time);
  }
  Life life_;
};

TEST_F(ZooKeeperLife, IsProvenByAWriteFromTheConnectionOn) {
  life_.connected(at(0ms));
  EXPECT_EQ(life_.proven(), Instant{}) << "nothing was committed yet";
  write(5ms);
  EXPECT_EQ(life_.proven(), at(0ms));
}

TEST_F(ZooKeeperLife, IsNotProvenByReads) {
  life_.connected(at(0ms));
  write(0ms);
  for (auto time = 100ms; time < 20s; time += 100ms) read(time);
  EXPECT_EQ(life_.proven(), at(0ms));
}

TEST_F(ZooKeeperLife, IsNotProvenBySyncs) {
  life_.connected(at(0ms));
  write(0ms);
  for (auto time = 100ms; time < 20s; time += 100ms) sync(time);
  EXPECT_EQ(life_.proven(), at(0ms)) << "a leader that is cut off answers those";
}

TEST_F(ZooKeeperLife, IsNotProvenByAWriteItself) {
  life_.connected(at(0ms));
  write(0ms);
  write(3s);
  EXPECT_EQ(life_.proven(), at(0ms)) << "the follower may be cut off before it tells of it";
}

TEST_F(ZooKeeperLife, IsProvenFromTheSignThatASyncHasShown) {
  life_.connected(at(0ms));
  write(3s);
  sync(6s);
  EXPECT_EQ(life_.proven(), at(0ms));
  write(6s + 20ms);
  EXPECT_EQ(life_.proven(), at(3s));
}

TEST_F(ZooKeeperLife, IsNotProvenFromASignThatWasNotToldYet) {
  life_.connected(at(0ms));
  write(3s);
  sync(3s + 900ms);
  write(3s + 920ms);
  EXPECT_EQ(life_.proven(), at(0ms));
}

TEST_F(ZooKeeperLife, CountsASignFromItsAnswerOn) {
  life_.connected(at(0ms));
  life_.answered(at(1s), at(3s));  // it may have come to the server just before it was answered
  sync(3s + 500ms);
  write(3s + 520ms);
  EXPECT_EQ(life_.proven(), at(0ms));
  sync(4s + 10ms);
  write(4s + 30ms);
  EXPECT_EQ(life_.proven(), at(1s));
}

TEST_F(ZooKeeperLife, ForgetsSignsOfAConnectionThatBroke) {
  life_.connected(at(0ms));
  write(3s);
  life_.disconnected();
  life_.connected(at(4s));
  sync(5s + 500ms);
  write(5s + 520ms);
  EXPECT_EQ(life_.proven(), at(4s)) << "the leader was asked when the connection was made";
}

TEST_F(ZooKeeperLife, OfAnotherSessionBeginsAnew) {
  life_.connected(at(0ms));
  write(3s);
  life_.over();
  EXPECT_EQ(life_.known(), Instant{});
  EXPECT_EQ(life_.proven(), Instant{});
}

TEST_F(ZooKeeperLife, IsProvenAllTheTimeWhileWritesComeThickAndFast) {
  life_.connected(at(0ms));
  for (auto time = 0ms; time < 30s; time += 3ms) {
    write(time);
    ASSERT_LT(at(time) - life_.proven(), 1'400ms) << time.count();
  }
}

// A follower that answers a ping each 900 ms, and a leader that hears of signs by that alone. All
// requests take no time; what is cut is cut after the last of them.
TEST_F(ZooKeeperLife, IsNeverProvenFromLaterThanTheLeaderCounts) {
  const std::uint64_t seed = model::test_seed();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2'000; ++round) {
    Life life;
    life.set_report(1s);
    life.connected(at(0ms));
    auto told = 0ms;   // of this the leader knows
    auto signs = 0ms;  // and of this the follower
    auto next_ping = std::chrono::milliseconds(random() % 900);
    auto now = 0ms;
    for (int step = 0; step < 60; ++step) {
      now += std::chrono::milliseconds(random() % (random() % 4 == 0 ? 3'000 : 300));
      for (; next_ping <= now; next_ping += 900ms) told = signs;
      signs = now;
      const Instant known = life.known();
      switch (random() % 3) {
        case 0: break;
        case 1: life.passed(at(now)); break;
        default:
          life.passed(at(now));
          life.committed(known, at(now), at(now));
          ASSERT_LE(life.proven(), at(told)) << "seed " << seed << ", round " << round;
      }
      life.answered(at(now), at(now));
    }
  }
}

}  // namespace
}  // namespace mortise::zookeeper
