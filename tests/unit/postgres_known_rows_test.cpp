// SPDX-License-Identifier: MIT
// Goal: a name counts as known only after it was seen, and no longer once it was missed. Method:
// more names than there are places.
#include "postgres/known_rows.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::postgres {
namespace {

TEST(PostgresKnownRows, KnowsWhatItSawLast) {
  KnownRows rows;
  for (int i = 0; i < 1'000; ++i) {
    const std::string name = "n" + std::to_string(i);
    EXPECT_FALSE(rows.has(name)) << name;
    rows.seen(name);
    EXPECT_TRUE(rows.has(name)) << name;
  }
}

TEST(PostgresKnownRows, ForgetsWhatWasMissed) {
  KnownRows rows;
  rows.seen("a");
  rows.missed("a");
  EXPECT_FALSE(rows.has("a"));
  rows.seen("a");
  EXPECT_TRUE(rows.has("a"));
}

}  // namespace
}  // namespace mortise::postgres
