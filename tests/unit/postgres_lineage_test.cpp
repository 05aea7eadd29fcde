// SPDX-License-Identifier: MIT
// Goal: who has met a promoted server knows the one before by its timeline, and no other server.
// Method: the lineage alone.
#include "postgres/lineage.hpp"

#include <gtest/gtest.h>

namespace mortise::postgres {
namespace {

TEST(PostgresLineage, KnowsTheServerThatWasReplaced) {
  Lineage lineage;
  EXPECT_FALSE(lineage.follow({.cluster = 7, .timeline = 1})) << "nothing was before";
  EXPECT_FALSE(lineage.outdated({.cluster = 7, .timeline = 1}));
  EXPECT_TRUE(lineage.follow({.cluster = 7, .timeline = 2}));
  EXPECT_TRUE(lineage.outdated({.cluster = 7, .timeline = 1}));
  EXPECT_FALSE(lineage.outdated({.cluster = 7, .timeline = 2}));
  EXPECT_FALSE(lineage.follow({.cluster = 7, .timeline = 1})) << "it does not go back";
  EXPECT_TRUE(lineage.outdated({.cluster = 7, .timeline = 1}));
}

TEST(PostgresLineage, TakesAnotherClusterForAnotherStory) {
  Lineage lineage;
  EXPECT_FALSE(lineage.follow({.cluster = 7, .timeline = 5}));
  EXPECT_FALSE(lineage.outdated({.cluster = 8, .timeline = 1})) << "restored from a dump";
  EXPECT_FALSE(lineage.follow({.cluster = 8, .timeline = 1}));
  EXPECT_FALSE(lineage.outdated({.cluster = 8, .timeline = 1}));
}

TEST(PostgresLineage, KnowsNothingOfAServerThatDoesNotTell) {
  Lineage lineage;
  EXPECT_FALSE(lineage.follow({.cluster = 7, .timeline = 5}));
  EXPECT_FALSE(lineage.outdated({}));
  EXPECT_FALSE(lineage.follow({}));
  EXPECT_FALSE(lineage.outdated({.cluster = 7, .timeline = 5}));
}

}  // namespace
}  // namespace mortise::postgres
