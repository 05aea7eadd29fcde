// SPDX-License-Identifier: MIT
// Goal: the thread that sends a release comes back to the name if, and only if, a caller may wait
// for the release. Method: the counts alone.
#include "core/leaving_releases.hpp"

#include <gtest/gtest.h>

namespace mortise::core {
namespace {

class LeavingReleasesTest : public ::testing::Test {
 protected:
  LeavingReleases releases_;
};

TEST_F(LeavingReleasesTest, NoCallerHasLooked) {
  releases_.begin(true);
  EXPECT_TRUE(releases_.end_unseen());
  EXPECT_FALSE(releases_.is_any());
}

// Promise: L2
TEST_F(LeavingReleasesTest, ACallerThatLooksIsWoken) {
  releases_.begin(true);
  EXPECT_TRUE(releases_.is_any());
  EXPECT_FALSE(releases_.end_unseen()) << "the caller may have begun to wait";
  EXPECT_TRUE(releases_.is_any());
  releases_.end();
  EXPECT_FALSE(releases_.is_any());
}

TEST_F(LeavingReleasesTest, ACallerWaitsAlready) {
  releases_.begin(false);
  EXPECT_FALSE(releases_.end_unseen());
  releases_.end();
  EXPECT_FALSE(releases_.is_any());
}

TEST_F(LeavingReleasesTest, OfSeveralEachComesBack) {
  releases_.begin(true);
  releases_.begin(true);
  EXPECT_FALSE(releases_.end_unseen());
  releases_.end();
  EXPECT_TRUE(releases_.is_any());
  EXPECT_FALSE(releases_.end_unseen());
  releases_.end();
  EXPECT_FALSE(releases_.is_any());
}

TEST_F(LeavingReleasesTest, TheNextOneAfterThatIsUnseenAgain) {
  releases_.begin(false);
  releases_.end();
  releases_.begin(true);
  EXPECT_TRUE(releases_.end_unseen());
}

TEST_F(LeavingReleasesTest, MayEndUnderTheMutexAlthoughNoCallerHasLooked) {
  releases_.begin(true);
  releases_.end();
  EXPECT_FALSE(releases_.is_any());
}

}  // namespace
}  // namespace mortise::core
