// SPDX-License-Identifier: MIT
// Goal: what could not be sent is sent once when it can be, and not tried for ever for nobody.
// Method: the outbox and its judgements alone.
#include "remote/outbox.hpp"

#include <gtest/gtest.h>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

struct Letter {
  char operation = 'a';
  char kind = 'r';
  int copy = 1;
};

TEST(RemoteOutbox, KeepsEachCallOnceInTheirOrder) {
  Outbox<Letter> outbox;
  outbox.add({.operation = 'b', .kind = 'r'});
  outbox.add({.operation = 'a', .kind = 'r', .copy = 1});
  outbox.add({.operation = 'a', .kind = 'c'});
  outbox.add({.operation = 'a', .kind = 'r', .copy = 2});
  const std::vector<Letter> letters = outbox.take();
  ASSERT_EQ(letters.size(), 3U);
  EXPECT_EQ(letters[0].operation, 'b');
  EXPECT_EQ(letters[1].operation, 'a');
  EXPECT_EQ(letters[1].copy, 1) << "what is sent again is not put off by what comes later";
  EXPECT_EQ(letters[2].kind, 'c');
  EXPECT_TRUE(outbox.take().empty());
}

TEST(RemoteOutbox, AFailureIsFinalWhereAskingAgainCannotHelp) {
  for (const Errc code : {Errc::denied, Errc::misconfigured, Errc::unsupported, Errc::protocol}) {
    EXPECT_TRUE(is_final({code, ""})) << static_cast<int>(code);
  }
  for (const Errc code : {Errc::unavailable, Errc::timeout, Errc::exhausted, Errc::lost}) {
    EXPECT_FALSE(is_final({code, ""})) << static_cast<int>(code);
  }
  EXPECT_FALSE(is_final(Failure{}));
}

TEST(RemoteOutbox, WhatNobodyWaitsForIsTriedAsLongAsItKeepsOthersOut) {
  constexpr Instant start{100s};
  EXPECT_FALSE(was_tried_enough(start, 10s, start + 1min));
  EXPECT_TRUE(was_tried_enough(start, 10s, start + 1min + 1ns));
  EXPECT_FALSE(was_tried_enough(start, 10min, start + 10min));
  EXPECT_TRUE(was_tried_enough(start, 10min, start + 10min + 1ns));
}

}  // namespace
}  // namespace mortise::remote
