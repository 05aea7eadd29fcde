// SPDX-License-Identifier: MIT
// Goal: impossible options and names are refused in words that name the culprit.
// Method: one bad value at a time.
#include "core/terms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::core {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

void expect_refused(const Failure& failure, const std::string& culprit) {
  EXPECT_EQ(failure.code, Errc::misconfigured);
  EXPECT_THAT(failure.text, HasSubstr(culprit));
}

TEST(TermsTest, DefaultsAreFine) {
  EXPECT_FALSE(check(LockOptions{}));
  EXPECT_FALSE(check(ClientOptions{}));
  EXPECT_FALSE(check_name("orders/42"));
  EXPECT_FALSE(check_name(std::string(512, 'x')));
  EXPECT_FALSE(check_name(std::string_view("\0\n", 2)));
}

TEST(TermsTest, LeaseHasALimitAtBothEnds) {
  EXPECT_FALSE(check(LockOptions{.lease = 100ms}));
  EXPECT_FALSE(check(LockOptions{.lease = 24h}));
  expect_refused(check(LockOptions{.lease = 99ms}), "lease is 99 ms");
  expect_refused(check(LockOptions{.lease = 24h + 1ms}), "LockOptions::lease");
  expect_refused(check(LockOptions{.lease = -1s}), "LockOptions::lease");
}

TEST(TermsTest, MaxHoldMustLeaveRoomForRenewal) {
  expect_refused(check(LockOptions{.max_hold = 0ms}), "max_hold");
  expect_refused(check(LockOptions{.lease = 2s, .max_hold = 1s}),
                 "shorter than LockOptions::lease");
  EXPECT_FALSE(check(LockOptions{.lease = 2s, .renew = false, .max_hold = 1s}));
}

TEST(TermsTest, MinHoldIsNotLongerThanWhatMayBeHeld) {
  EXPECT_FALSE(check(LockOptions{.min_hold = 24h}));
  EXPECT_FALSE(check(LockOptions{.max_hold = 60s, .min_hold = 60s}));
  expect_refused(check(LockOptions{.min_hold = 24h + 1ms}), "LockOptions::min_hold");
  expect_refused(check(LockOptions{.min_hold = -1ms}), "LockOptions::min_hold");
  expect_refused(check(LockOptions{.max_hold = 60s, .min_hold = 60s + 1ms}),
                 "shorter than LockOptions::min_hold");
  EXPECT_FALSE(check(LockOptions{.mode = Mode::shared}));
  expect_refused(check(LockOptions{.min_hold = 1ms, .mode = Mode::shared}), "Mode::shared");
  expect_refused(check(LockOptions{.mode = Mode::once}), "LockOptions::mode");
}

TEST(TermsTest, LabelsArePrintableAndShort) {
  expect_refused(check(LockOptions{.label = std::string(129, 'x')}), "129 bytes");
  for (const char* const label :
       {"a\nb", "a\x1b[2J", "a\x7f", "a\xc2\x85", "a\xc2\x9b", "a\u2028b", "a\u061cb", "a\u200eb",
        "a\u202eb", "a\u2066b", "a\xff", "a\xc0\x8a"}) {
    const Failure refused = check(LockOptions{.label = label});
    expect_refused(refused, "LockOptions::label has a control character");
    EXPECT_THAT(refused.text, HasSubstr("only visible UTF-8"));
    expect_refused(check(OnceOptions{.label = label}), "OnceOptions::label");
  }
  EXPECT_FALSE(check(LockOptions{.label = "Kasse 7 \u00fc \u4e2d \\ '"}));
}

TEST(TermsTest, ClientOptionsAreChecked) {
  expect_refused(check(ClientOptions{.give_up = -1ms}), "give_up");
  expect_refused(check(ClientOptions{.turn = -1ms}), "turn");
  expect_refused(check(ClientOptions{.turn_handoffs = 1001}), "turn_handoffs is 1001");
}

TEST(TermsTest, NamesAreOneTo512Bytes) {
  expect_refused(check_name(""), "empty");
  expect_refused(check_name(std::string(513, 'n')), "513 bytes");
}

}  // namespace
}  // namespace mortise::core
