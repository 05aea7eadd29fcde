// SPDX-License-Identifier: MIT
// Goal: what could not be sent is sent once when it can be, and not tried for ever for nobody.
// Method: the outbox and its judgements alone.
#include "remote/outbox.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

struct Letter {
  std::shared_ptr<char> operation{};
  char kind = 'r';
  int copy = 1;
  [[nodiscard]] char purpose() const { return kind; }
};
const auto a = std::make_shared<char>('a');
const auto b = std::make_shared<char>('b');
const auto c = std::make_shared<char>('c');
const auto d = std::make_shared<char>('d');

using Letters = Outbox<Letter>::Calls;

TEST(RemoteOutbox, KeepsEachCallOnceInTheirOrder) {
  Outbox<Letter> outbox;
  outbox.add(Letters{{.operation = b, .kind = 'r'}});
  outbox.add(Letters{{.operation = a, .kind = 'r', .copy = 1}});
  outbox.add(Letters{{.operation = a, .kind = 'c'}});
  outbox.add(Letters{{.operation = a, .kind = 'r', .copy = 2}});
  const Letters taken = outbox.take();
  const std::vector<Letter> letters(taken.begin(), taken.end());
  ASSERT_EQ(letters.size(), 3U);
  EXPECT_EQ(letters[0].operation, b);
  EXPECT_EQ(letters[1].operation, a);
  EXPECT_EQ(letters[1].copy, 1) << "what is sent again is not put off by what comes later";
  EXPECT_EQ(letters[2].kind, 'c');
  EXPECT_TRUE(outbox.take().empty());
}

TEST(RemoteOutbox, GivesTheFirstOfThemInTheirOrder) {
  Outbox<Letter> outbox;
  EXPECT_TRUE(outbox.empty());
  for (const auto& each : {c, a, b}) outbox.add(Letters{{.operation = each}});
  Letters taken = outbox.take(2);
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken.front().operation, c);
  EXPECT_EQ(taken.back().operation, a);
  EXPECT_FALSE(outbox.empty());
  outbox.add(Letters{{.operation = c}});  // it left, and waits again
  outbox.add(Letters{{.operation = b}});
  taken = outbox.take(3);
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken.front().operation, b);
  EXPECT_EQ(taken.back().operation, c);
  EXPECT_TRUE(outbox.empty());
}

TEST(RemoteOutbox, WhatCannotBeSentForWantOfMemoryIsKept) {
  Letters kept;
  std::string sent;
  const auto send = [&](Letters& alone) {
    if (alone.front().operation == b) throw std::bad_alloc();
    if (alone.front().operation == d) {
      alone.clear();  // it was put elsewhere
      throw std::bad_alloc();
    }
    sent += *alone.front().operation;
  };
  const auto keep = [&](Letters alone) { kept.splice(kept.end(), alone); };
  Letters all{{.operation = a}, {.operation = b}, {.operation = c}, {.operation = d}};
  EXPECT_TRUE(each_or_keep(std::move(all), send, keep));
  EXPECT_EQ(sent, "ac");
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept.front().operation, b);
  EXPECT_FALSE(each_or_keep(Letters{{.operation = a}}, send, keep));
}

TEST(RemoteOutbox, AFailureIsFinalWhereAskingAgainCannotHelp) {
  for (const Errc code : {Errc::denied, Errc::misconfigured, Errc::unsupported, Errc::protocol}) {
    EXPECT_TRUE(is_final({code, ""})) << static_cast<int>(code);
  }
  for (const Errc code : {Errc::unavailable, Errc::timeout, Errc::exhausted, Errc::lost}) {
    EXPECT_FALSE(is_final({code, ""})) << static_cast<int>(code);
  }
  EXPECT_FALSE(is_final(Failure{}));
}

TEST(RemoteOutbox, WhatNobodyWaitsForIsTriedAsLongAsItKeepsOthersOut) {
  constexpr Instant start{100s};
  EXPECT_FALSE(was_tried_enough(start, 10s, start + 1min));
  EXPECT_TRUE(was_tried_enough(start, 10s, start + 1min + 1ns));
  EXPECT_FALSE(was_tried_enough(start, 10min, start + 10min));
  EXPECT_TRUE(was_tried_enough(start, 10min, start + 10min + 1ns));
}

}  // namespace
}  // namespace mortise::remote
