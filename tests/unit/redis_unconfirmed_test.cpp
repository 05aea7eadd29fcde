// SPDX-License-Identifier: MIT
// Goal: a WAIT confirms the grants that were seen before it began, and no other; none is left
// without a verdict. Method: the lists alone, on a clock of the test's own.
#include "redis/beside/unconfirmed.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::redis {
namespace {

using namespace std::chrono_literals;

class RedisUnconfirmed : public ::testing::Test {
 protected:
  static constexpr Instant start{1h};

  void see(char name, Instant until = start + 1s, std::uint64_t clock = 1) {
    Unconfirmed::Grants one;
    one.push_back({clock, until, [this, name](const Failure& /*why*/) { told_ += name; }});
    waiting_.add(one);
    waiting_.note_due();
  }
  std::string told(Unconfirmed::Grants those) {
    told_.clear();
    for (const Unconfirmed::Grant& each : those) each.verdict({});
    return told_;
  }

  Unconfirmed waiting_;
  std::string told_;
};

// Promise: S1
TEST_F(RedisUnconfirmed, AWaitIsAboutTheGrantsBeforeIt) {
  EXPECT_FALSE(waiting_.wants_wait());
  see('a');
  ASSERT_TRUE(waiting_.wants_wait());
  EXPECT_EQ(waiting_.begin(start), 1s);
  see('b');
  EXPECT_FALSE(waiting_.wants_wait()) << "one at a time";
  EXPECT_EQ(told(waiting_.end(true, start)), "a");
  ASSERT_TRUE(waiting_.wants_wait());
  static_cast<void>(waiting_.begin(start));
  EXPECT_EQ(told(waiting_.end(true, start)), "b");
}

TEST_F(RedisUnconfirmed, GrantsWithTimeLeftAreAskedAboutOnceMore) {
  see('a', start + 100ms);
  see('b', start + 1s);
  EXPECT_EQ(waiting_.begin(start), 100ms) << "as long as the first has";
  EXPECT_EQ(told(waiting_.end(false, start + 100ms)), "a");
  EXPECT_EQ(waiting_.begin(start + 999ms), Unconfirmed::shortest_wait);
  waiting_.give_up();  // its connection broke
  EXPECT_TRUE(waiting_.wants_wait());
  EXPECT_EQ(told(waiting_.take_late(start + 1s)), "b");
  EXPECT_FALSE(waiting_.wants_wait());
}

TEST_F(RedisUnconfirmed, ADueMomentIsOfAGrantThatNoWaitIsAbout) {
  EXPECT_EQ(waiting_.due(), never);
  see('b', start + 2s);
  see('a', start + 1s);
  EXPECT_EQ(waiting_.due(), start + 1s);
  static_cast<void>(waiting_.begin(start));
  waiting_.note_due();
  EXPECT_EQ(waiting_.due(), never) << "the WAIT has an end";
  EXPECT_EQ(told(waiting_.take_late(start + 1h)), "");
  EXPECT_EQ(told(waiting_.take_all()), "ba");
}

TEST_F(RedisUnconfirmed, GrantsOfAnotherServerAreNotAskedAbout) {
  see('a', start + 1s, 1);
  see('b', start + 1s, 2);
  EXPECT_EQ(told(waiting_.take_others(2)), "a");
  EXPECT_EQ(told(waiting_.take_all()), "b");
}

}  // namespace
}  // namespace mortise::redis
