// SPDX-License-Identifier: MIT
// Goal: a connection counts as silent only while the server owes an answer to a request that has
// left. Method: the times are arguments; no socket, no thread.
#include "zookeeper/silence.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace mortise::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Instant first_sent{1h};

TEST(ZooKeeperSilence, CountsFromTheFirstRequestThatLeft) {
  Silence silence;
  EXPECT_EQ(silence.since(), never);
  EXPECT_FALSE(silence.was_heard());
  silence.sent(first_sent);
  silence.sent(first_sent + 1s);
  EXPECT_EQ(silence.since(), first_sent);
}

TEST(ZooKeeperSilence, CountsAnewFromEachAnswer) {
  Silence silence;
  silence.sent(first_sent);
  silence.heard(first_sent + 1s, true);
  EXPECT_EQ(silence.since(), first_sent + 1s);
  EXPECT_TRUE(silence.was_heard());
  silence.heard(first_sent + 2s, false);
  EXPECT_EQ(silence.since(), never);
}

// The server refused the last request for now, which is no answer. Much later the next one leaves.
// Promise: L8
TEST(ZooKeeperSilence, EndsWithTheLastRequestWhateverBecameOfIt) {
  Silence silence;
  silence.sent(first_sent);
  silence.end();
  EXPECT_EQ(silence.since(), never);
  silence.sent(first_sent + 1h);
  EXPECT_EQ(silence.since(), first_sent + 1h);
}

}  // namespace
}  // namespace mortise::zookeeper
