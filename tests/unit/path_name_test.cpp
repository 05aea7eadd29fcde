// SPDX-License-Identifier: MIT
// Goal: a lock name of any bytes becomes one safe component of a path. Method: known answers; the
// reversibility is tested with file names, which are made of it.
#include "base/path_name.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::base {
namespace {

TEST(PathNameTest, KnownAnswers) {
  EXPECT_EQ(path_name("orders/42"), "orders%2F42");
  EXPECT_EQ(path_name("."), "%2E");
  EXPECT_EQ(path_name(".."), "%2E.");
  EXPECT_EQ(path_name("a\nb"), "a%0Ab");
}

TEST(PathNameTest, LeadsBackToItsName) {
  for (const std::string& name : {std::string("orders/42"), std::string("."), std::string("..a"),
                                  std::string("\0%\xff", 3)}) {
    EXPECT_EQ(name_in_path(path_name(name)), name);
  }
  for (const char* const none : {"%h-0123456789ABCDEF0123456789ABCDEF", "%s-0123456789abcdef",
                                 "%2f", "%41", "%", "%2", "%zz", "a b", "/", ".a", "a%", "%once"}) {
    EXPECT_FALSE(name_in_path(none)) << none;
  }
}

}  // namespace
}  // namespace mortise::base
