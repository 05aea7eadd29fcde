// SPDX-License-Identifier: MIT
// Goal: a client that was moved from is closed, and whoever calls it all the same is told at once
// in a build with assertions. Method: the members that may be called, and one that may not, in a
// child.
#include <mortise/mortise.hpp>

#include <gtest/gtest.h>

#include <utility>

namespace mortise {
namespace {

// NOLINTBEGIN(bugprone-use-after-move): what is left is the point

TEST(MovedFromClient, IsClosedAndCanBeAssignedTo) {
  Client first("memory:moved_from");
  Client second(std::move(first));
  first.close();
  EXPECT_TRUE(second.make_lock("name").try_lock());
  first = std::move(second);
  EXPECT_TRUE(first.make_lock("other").try_lock());
}

TEST(MovedFromClientDeathTest, IsNamedByTheAssertion) {
#ifdef NDEBUG
  GTEST_SKIP() << "a build without assertions";
#endif
  Client first("memory:moved_from");
  const Client second(std::move(first));
  EXPECT_DEATH(static_cast<void>(first.make_lock("name")), "moved-from mortise::Client");
}

// NOLINTEND(bugprone-use-after-move)

}  // namespace
}  // namespace mortise
