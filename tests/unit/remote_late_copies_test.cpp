// SPDX-License-Identifier: MIT
// Goal: an answer is taken for the last word on an attempt only when no older request for it can
// still be executed. Method: the table alone, by moments of the test's own.
#include "remote/late_copies.hpp"

#include <gtest/gtest.h>

#include <iterator>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

struct Note {
  bool wanted = false;
  [[nodiscard]] bool needed() const noexcept { return wanted; }
};

class RemoteLateCopies : public ::testing::Test {
 protected:
  using Table = LateCopies<Note>;
  static constexpr Instant start{100s};
  static constexpr Table::Key key{.server = 7, .attempt = {1, 2, 3}};
  static constexpr Table::Key elsewhere{.server = 8, .attempt = {1, 2, 3}};

  /// The server refuses what is older, and nothing more is to be remembered.
  void refuses_below(std::uint64_t number) {
    static_cast<void>(late_.refuses_below(key, number));
    late_.settle(key);
  }

  Table late_{2min};
};

TEST_F(RemoteLateCopies, ThereAreNoneBeforeAConnectionBreaks) {
  EXPECT_FALSE(late_.any_copies(key));
  EXPECT_FALSE(late_.release_in_doubt(key));
  refuses_below(1);
  late_.released(key);
  EXPECT_TRUE(late_.empty());
}

TEST_F(RemoteLateCopies, AreOverOnceTheServerRefusesThem) {
  late_.unanswered(key, 4, start);
  EXPECT_TRUE(late_.any_copies(key));
  refuses_below(4);
  EXPECT_TRUE(late_.any_copies(key)) << "a copy with the same number may come";
  refuses_below(5);
  EXPECT_FALSE(late_.any_copies(key));
  EXPECT_TRUE(late_.empty());
}

// Two connections broke, the older one is told of last.
TEST_F(RemoteLateCopies, TheNewestCounts) {
  late_.unanswered(key, 6, start);
  late_.unanswered(key, 4, start);
  refuses_below(5);
  EXPECT_TRUE(late_.any_copies(key));
}

TEST_F(RemoteLateCopies, MayComeAnewAfterTheyWereRefused) {
  late_.unanswered(key, 4, start)->kept = true;
  refuses_below(5);
  EXPECT_FALSE(late_.any_copies(key));
  ASSERT_NE(late_.find(key), nullptr) << "later numbers are counted from it";
  EXPECT_EQ(late_.find(key)->newest, 4U);
  late_.unanswered(key, 5, start);
  EXPECT_TRUE(late_.any_copies(key));
}

TEST_F(RemoteLateCopies, AReleaseIsInDoubtUntilItIsAnswered) {
  late_.unanswered(key, 1, start)->release = true;
  refuses_below(2);
  EXPECT_FALSE(late_.any_copies(key));
  EXPECT_TRUE(late_.release_in_doubt(key));
  late_.released(key);
  EXPECT_FALSE(late_.release_in_doubt(key));
  EXPECT_TRUE(late_.empty());
}

TEST_F(RemoteLateCopies, WhatABackendNotesIsKeptAsLongAsItIsNeeded) {
  late_.unanswered(key, 1, start)->more.wanted = true;
  refuses_below(2);
  ASSERT_NE(late_.find(key), nullptr);
  late_.find(key)->more.wanted = false;
  late_.settle(key);
  EXPECT_EQ(late_.find(key), nullptr);
}

TEST_F(RemoteLateCopies, AreThoseOfOneServer) {
  late_.unanswered(key, 1, start);
  EXPECT_FALSE(late_.any_copies(elsewhere));
  static_cast<void>(late_.refuses_below(elsewhere, 9));
  EXPECT_TRUE(late_.any_copies(key));
}

TEST_F(RemoteLateCopies, ExistAsLongAsTheServerRefusesThem) {
  late_.unanswered(key, 1, start);
  late_.unanswered(key, 1, start + 1min);
  late_.sweep(start + 3min);
  EXPECT_TRUE(late_.any_copies(key)) << "the last of them is two minutes old, and not older";
  EXPECT_FALSE(late_.is_over(*late_.find(key), start + 3min));
  late_.sweep(start + 3min + 2s);
  EXPECT_TRUE(late_.empty());
}

// A server that stood still as long grants it when it goes on.
TEST_F(RemoteLateCopies, OutliveWhatTheyMayBring) {
  late_.unanswered(key, 1, start, 10min);
  late_.unanswered(key, 2, start);
  late_.sweep(start + 12min);
  EXPECT_TRUE(late_.any_copies(key));
  late_.sweep(start + 12min + 2s);
  EXPECT_TRUE(late_.empty());
}

// A connection breaks with thousands of requests: not each of them looks through all.
TEST_F(RemoteLateCopies, AreSweptOnceASecond) {
  late_.unanswered(elsewhere, 1, start);
  late_.sweep(start + 2min);
  late_.sweep(start + 2min + 900ms);
  EXPECT_EQ(std::distance(late_.begin(), late_.end()), 1);
  late_.sweep(start + 2min + 1s);
  EXPECT_TRUE(late_.empty());
}

// Which of them may come nobody knows then; so whatever was made by then counts as in doubt.
TEST_F(RemoteLateCopies, OfWhichThereIsNoMemoryAreNotForgotten) {
  const Table::Key older{.server = 8, .attempt = {1, 2, 2}};
  const Table::Key newer{.server = 7, .attempt = {1, 2, 4}};
  late_.unnoted(key);
  for (const Table::Key& each : {older, key}) {
    EXPECT_TRUE(late_.any_copies(each));
    EXPECT_TRUE(late_.release_in_doubt(each));
  }
  EXPECT_FALSE(late_.any_copies(newer));
  EXPECT_FALSE(late_.release_in_doubt(newer));
  refuses_below(9);
  late_.released(key);
  late_.unnoted(older);
  EXPECT_TRUE(late_.any_copies(key)) << "of this one it is known as little as before";
  EXPECT_FALSE(late_.empty());
}

}  // namespace
}  // namespace mortise::remote
