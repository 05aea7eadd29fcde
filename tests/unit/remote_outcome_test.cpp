// SPDX-License-Identifier: MIT
// Goal: a grant that no caller took goes back, and an answer to a release is believed only as far
// as no lost copy of the request is in doubt. Method: an attempt of a client, with an exchange that
// writes down what it is to give back.
#include "remote/outcome.hpp"
#include "unit/remote_courses_fixture.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

struct Returns {
  void give_back(const std::shared_ptr<Release>& hold, std::chrono::nanoseconds /*lease*/) {
    numbers.push_back(hold->hold().number);
  }
  std::vector<std::uint64_t> numbers;
};

class RemoteOutcome : public CoursesFixture {
 protected:
  [[nodiscard]] static Grant grant(std::uint64_t number) {
    return {.number = number, .counted_from = start, .lease = 30s};
  }
  /// @return the number of the hold that is noted
  std::uint64_t noted(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return table_.held(id_of(1), number, start, start + 30s);
  }
  Returns returns_;
};

TEST_F(RemoteOutcome, ACallerHasTheGrantThatItWaitedFor) {
  EXPECT_TRUE(complete(returns_, table_, *one_, grant(7), noted(7)));
  EXPECT_EQ(one_->grant().number, 7U);
  EXPECT_TRUE(returns_.numbers.empty());
}

// Promise: S5
TEST_F(RemoteOutcome, AGrantGoesBackIfItsCallerHasGone) {
  one_->busy(std::nullopt);
  EXPECT_FALSE(complete(returns_, table_, *one_, grant(7), noted(7)));
  EXPECT_EQ(returns_.numbers, std::vector<std::uint64_t>{7});
}

// A thread read the first grant and stood still, and another thread completed the operation.
// Promise: S1
TEST_F(RemoteOutcome, OfTwoGrantsTheHoldHasTheOneThatItsCallerTook) {
  const std::uint64_t first = noted(7);
  EXPECT_TRUE(complete(returns_, table_, *one_, grant(9), noted(9)));
  EXPECT_FALSE(complete(returns_, table_, *one_, grant(7), first));
  EXPECT_EQ(returns_.numbers, std::vector<std::uint64_t>{7});
  EXPECT_EQ(table_.ask(id_of(1), &AttemptCourse::number), 9U);
}

TEST_F(RemoteOutcome, AHoldThatALookFoundGoesBackUnlessItIsInUse) {
  static_cast<void>(complete(returns_, table_, *one_, grant(7), noted(7)));
  found(returns_, *one_, 7);
  EXPECT_TRUE(returns_.numbers.empty());
  found(returns_, *one_, 9);
  EXPECT_EQ(returns_.numbers, std::vector<std::uint64_t>{9});
}

TEST(RemoteReleaseOutcome, IsInDoubtOnlyIfAnEarlierCopyWasLost) {
  using enum ReleaseOutcome;
  EXPECT_EQ(released_by(freed, false), Released::released);
  EXPECT_EQ(released_by(freed, true), Released::released);
  EXPECT_EQ(released_by(freed_before, true), Released::released);
  EXPECT_EQ(released_by(freed_before, false), Released::was_lost) << "by an administrator";
  EXPECT_EQ(released_by(lapsed, true), Released::was_lost);
  EXPECT_EQ(released_by(not_ours, true), Released::unknown);
  EXPECT_EQ(released_by(not_ours, false), Released::was_lost);
}

}  // namespace
}  // namespace mortise::remote
