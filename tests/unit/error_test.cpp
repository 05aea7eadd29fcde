// SPDX-License-Identifier: MIT
// Goal: codes answer the questions a caller asks, and messages say what, where and why.
#include <mortise/error.hpp>
#include <mortise/operation.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise {
namespace {

TEST(ErrorTest, Predicates) {
  EXPECT_TRUE(is_retryable(Errc::unavailable));
  EXPECT_TRUE(is_retryable(Errc::exhausted));
  EXPECT_FALSE(is_retryable(Errc::misconfigured));
  EXPECT_FALSE(is_retryable(std::error_code()));
  EXPECT_TRUE(is_ambiguous(Errc::in_doubt));
  EXPECT_FALSE(is_ambiguous(Errc::unavailable));
  EXPECT_TRUE(is_contention(Errc::timeout));
  EXPECT_TRUE(is_contention(Errc::cancelled));
  EXPECT_FALSE(is_contention(Errc::unavailable));
}

TEST(ErrorTest, EveryCodeHasItsOwnWords) {
  std::set<std::string> words;
  for (int code = 1; code <= static_cast<int>(Errc::mismatch); ++code) {
    words.insert(error_category().message(code));
  }
  EXPECT_EQ(words.size(), static_cast<std::size_t>(Errc::mismatch));
  EXPECT_STREQ(error_category().name(), "mortise");
}

TEST(ErrorTest, TheExceptionCarriesBoth) {
  const Error error({Errc::unavailable, "redis 10.0.0.1:6379: connection refused"});
  EXPECT_EQ(error.errc(), Errc::unavailable);
  EXPECT_EQ(error.code(), Errc::unavailable);
  EXPECT_THAT(error.what(), ::testing::StartsWith("redis 10.0.0.1:6379: connection refused"));
}

TEST(OperationTest, OnlyTheFirstCompletionCounts) {
  Acquisition operation({.attempt = {1, 2, 3}, .name = "x"});
  operation.granted({.number = 5});
  operation.busy(Holder{.label = "other"});
  operation.failed({Errc::closed, "late"});
  EXPECT_TRUE(operation.done());
  EXPECT_EQ(operation.grant().number, 5U);
  EXPECT_FALSE(operation.failure());
  EXPECT_FALSE(operation.holder().has_value());
}

TEST(OperationTest, TheFirstSendingIsTheBaseOfTheLease) {
  Acquisition operation({.attempt = {1, 2, 3}, .name = "x"});
  const Instant first{std::chrono::seconds(5)};
  EXPECT_EQ(operation.progress(), Acquisition::Progress::unsent);
  EXPECT_EQ(operation.sent(first), first);
  EXPECT_EQ(operation.sent(first + std::chrono::seconds(1)), first);
  EXPECT_EQ(operation.progress(), Acquisition::Progress::sent);
}

TEST(OperationTest, AttemptIdsAreFixedWidthHex) {
  EXPECT_EQ((AttemptId{0xabc, 1, 255}.text()), "0000000000000abc000000000000000100000000000000ff");
}

}  // namespace
}  // namespace mortise
