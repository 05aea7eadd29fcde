// SPDX-License-Identifier: MIT
// Goal: a name for which others wait is remembered until it is freed and nobody waits, whatever
// becomes of other names. Method: more names than there are places.
#include "postgres/contested.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::postgres {
namespace {

std::string name(int number) { return "n" + std::to_string(number); }

TEST(PostgresContested, RemembersForWhatOthersWaited) {
  Contested contested;
  EXPECT_FALSE(contested.has("a"));
  contested.freed("a", true);
  contested.freed("a", true);
  EXPECT_TRUE(contested.has("a"));
  EXPECT_FALSE(contested.has("b"));
  contested.freed("a", false);
  EXPECT_FALSE(contested.has("a"));
}

// A client whose other names nobody else wants would take every turn of the one that they want.
TEST(PostgresContested, NamesThatNobodyWaitsForChangeNothing) {
  Contested contested;
  contested.freed("a", true);
  for (int i = 0; i < 10'000; ++i) {
    contested.freed(name(i), false);
    ASSERT_TRUE(contested.has("a")) << name(i);
    ASSERT_FALSE(contested.has(name(i)));
  }
}

TEST(PostgresContested, NamesThatShareAPlaceAreBothRemembered) {
  constexpr int some = 200;
  Contested contested;
  for (int i = 0; i < some; ++i) contested.freed(name(i), true);
  for (int i = 0; i < some; ++i) EXPECT_TRUE(contested.has(name(i))) << name(i);
}

TEST(PostgresContested, WhatWasFreedLastIsRemembered) {
  Contested contested;
  for (int i = 0; i < 10'000; ++i) {
    contested.freed(name(i), true);
    ASSERT_TRUE(contested.has(name(i)));
  }
}

}  // namespace
}  // namespace mortise::postgres
