// SPDX-License-Identifier: MIT
// Goal: what the scripts answer is read as they mean it, and nothing else is an answer. Method:
// known answers, each of them cut anywhere, numbers around their limits, and random bytes.
#include "core/figures.hpp"
#include "model/seed.hpp"
#include "redis/answer.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::redis {
namespace {

using namespace std::chrono_literals;

constexpr AttemptId some{0x89abcdef, 0xfedcba9876543210, 0x8aa};
const std::string some_text = "iavN7_7cuph2VDIQiq";
const std::string largest = "9007199254740991";    // 2^53 - 1
const std::string too_large = "9007199254740992";  // 2^53
const std::string now = "1700000000000000";
const std::string written = "6553f10000000";  // the same as locks keep it

// Several texts, a '|' between two; $A is an attempt, $N a time, $W the same as it is written, $T a
// number that is too large.
std::vector<std::string> texts(std::string_view list) {
  std::vector<std::string> all(1);
  for (; !list.empty(); list.remove_prefix(1)) {
    if (list.front() == '|') {
      all.emplace_back();
    } else if (list.front() != '$') {
      all.back() += list.front();
    } else {
      list.remove_prefix(1);
      all.back() += list.front() == 'A'   ? some_text
                    : list.front() == 'N' ? now
                    : list.front() == 'W' ? written
                                          : too_large;
    }
  }
  return all;
}

TEST(RedisAnswerTest, AnAttemptIsShortAndComesBack) {
  EXPECT_EQ(AttemptText(some).view(), some_text);
  EXPECT_EQ(AttemptText(some, 77).view(), some_text + " 77");
  EXPECT_EQ(AttemptText(some).client(), some_text.substr(0, 16));
  constexpr std::uint64_t most = ~std::uint64_t{0};
  constexpr std::uint64_t half = most >> 32U;
  EXPECT_EQ(AttemptText({half, most, most}, most).view(),
            std::string(16, '_') + "P" + std::string(10, '_') + " 18446744073709551615");
  for (const AttemptId& id : {AttemptId{}, some, AttemptId{0, 1, most}, AttemptId{half, most, 1},
                              AttemptId{half, 0, 63}, AttemptId{1, most, 64}}) {
    EXPECT_EQ(parse_attempt(AttemptText(id).view()), id);
  }
  EXPECT_EQ(AttemptText(AttemptId{}).view(), std::string(17, 'A'));
}

TEST(RedisAnswerTest, WhatIsNoAttemptIsRefused) {
  const std::string client = some_text.substr(0, 16);
  std::vector<std::string> wrong = texts("|2a|0x| $A|$A |+$A|$A+|$A.|$A 1|$A/");
  for (const char* end : {"", "+1", "=", "Q__________", "AAAAAAAAAAAA"}) {
    wrong.push_back(client + end);
  }
  for (const std::size_t at : {0U, 7U, 8U, 15U, 16U}) {
    for (const char c : {'+', '=', ' ', '\0', '\xff'}) wrong.emplace_back(some_text)[at] = c;
  }
  for (const std::string& text : wrong) {
    EXPECT_EQ(parse_attempt(text), std::nullopt) << text;
  }
}

TEST(RedisAnswerTest, Granted) {
  const auto quick = Answer::parse("G" + written);
  ASSERT_TRUE(quick);
  EXPECT_EQ(quick->kind, Answer::Kind::granted);
  EXPECT_EQ(quick->now, 1'700'000'000'000'000us);
  EXPECT_EQ(quick->granted_at, quick->now);
  EXPECT_EQ(quick->number, 1'700'000'000'000'000U);
  EXPECT_EQ(quick->lease, 0ms);
  EXPECT_FALSE(quick->holder());
  const auto full = Answer::parse("G " + now + " " + largest + " 1699999999000000 86400000");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->kind, Answer::Kind::granted);
  EXPECT_EQ(full->number, core::grant_number_limit - 1);
  EXPECT_EQ(full->now - full->granted_at, 1s);
  EXPECT_EQ(full->lease, 24h);
}

TEST(RedisAnswerTest, HeldByOthersAndFree) {
  for (const char letter : {'Q', 'B', 'O', 'E'}) {
    const auto answer =
        Answer::parse(std::string(1, letter) + " " + now + " 2500999 1 77 3 host:1  x ");
    ASSERT_TRUE(answer) << letter;
    EXPECT_EQ(static_cast<char>(answer->kind), letter);
    EXPECT_EQ(answer->left, 2'500'999us);
    EXPECT_TRUE(answer->first);
    const auto holder = answer->holder();
    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->label, "host:1  x ");
    EXPECT_EQ(holder->token.value(), 77 * 1024U);
    EXPECT_EQ(holder->expires_in, 2500ms);
    EXPECT_EQ(holder->waiters, 3U);
  }
  // Redisson's hold has no number; that of the last grant is told all the same.
  const auto foreign = Answer::parse("Q " + now + " 2500999 1 -77 3 redisson");
  ASSERT_TRUE(foreign);
  EXPECT_EQ(foreign->last_number, 77U);
  EXPECT_FALSE(foreign->holder()->token);

  const auto free = Answer::parse("E " + now + " 0 0 0 0 ");
  ASSERT_TRUE(free);
  EXPECT_FALSE(free->first);
  EXPECT_FALSE(free->holder());
  EXPECT_EQ(Answer::parse("O 1 1 0 0 0 " + std::string(10'000, 'x'))->label.size(),
            core::longest_label);
  const std::string_view bytes("O 1 1 0 0 0 a\0\r\n\xff", 17);
  EXPECT_EQ(Answer::parse(bytes)->label, bytes.substr(12));
  EXPECT_EQ(Answer::parse("R")->kind, Answer::Kind::refused);
}

// The quick way's, to a try: as the lock is kept.
TEST(RedisAnswerTest, HeldByOthersAsItIsKept) {
  // Granted a second ago.
  for (const char* const number : {"6553f0ff00000", "06553f0ff00000"}) {
    const auto answer =
        Answer::parse("H" + written + " 30000 3 " + number + " " + some_text + " host:1  x ");
    ASSERT_TRUE(answer) << number;
    EXPECT_EQ(answer->kind, Answer::Kind::busy);
    EXPECT_EQ(answer->now, 1'700'000'000'000'000us);
    EXPECT_EQ(answer->left, 29s);
    EXPECT_FALSE(answer->first);
    EXPECT_EQ(answer->last_number, 1'699'999'999'000'000U);
    const auto holder = answer->holder();
    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->label, "host:1  x ");
    EXPECT_EQ(holder->token.value(), 1'699'999'999'000'000U * 1024);
    EXPECT_EQ(holder->waiters, 3U);
  }
  // Renewed: behind the bucket of time that the number lies in, which began at 6553f000.
  const auto renewed = Answer::parse("H" + written + " 100286000 0 6553f0ff0423f a ");
  ASSERT_TRUE(renewed);
  EXPECT_EQ(renewed->left, 30s);
  EXPECT_EQ(renewed->last_number, 1'699'999'999'016'959U);
  // The clock has stepped back since.
  const auto behind = Answer::parse("H" + written + " -70000 0 6553f16400000 " + some_text + " ");
  ASSERT_TRUE(behind);
  EXPECT_EQ(behind->left, 30s);
  EXPECT_EQ(behind->label, "");
}

TEST(RedisAnswerTest, AHoldIsWrittenAsLocksKeepIt) {
  EXPECT_EQ(HoldText(some, 1'700'000'000'000'000).view(), written + " " + some_text + " ");
  EXPECT_EQ(HoldText(some, 1'000'001).view(), "0000000100001 " + some_text + " ");
  EXPECT_EQ(HoldText(some, core::grant_number_limit - 1).view(),
            "218def416b4e7f " + some_text + " ");
}

// A server without a clock of its own begins in 1970.
TEST(RedisAnswerTest, GrantedByAClockThatWasNeverSet) {
  const auto answer = Answer::parse("G000003e800001");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->number, 1'000'000'001U);
  EXPECT_EQ(answer->granted_at, 1'000'000'001us);
}

TEST(RedisAnswerTest, WhatIsNoAnswerIsRefused) {
  for (const std::string& text : texts(
           "| |G|G |G $N|G  $N| G $N|g $N|GG $N|G\t$N|G $N |G 999999999999999|G 0|G $T|G -$N|G +$N|"
           "G 99999999999999999999|G 1.7e15|G $N\n|G 1 2|G 1 2 3|G 1 2 3 |G 1 0 3 4|G 1 2 3 0|"
           "G 1 2 3 86400001|G 1 2 3 4 |G 1 2 3 4 0|G 1 2 3 4 5 |G 1 2 3 4 $T|G 1 2  3 4|G 1 $T 3 "
           "4|G 1 2 $T 4|G $T 2 3 4|"
           "G 1 x 3 4|G 1 -2 3 4|R |R 1|RR|Q|Q 1|Q 1 2 3 4|Q 1 2 3 4 |Q 1 -2 0 4 5 |Q 1 x 0 4 5 |"
           "G$W |G$W 1|G0$W|g$W|G6553f100f4240|G0000000000000|G6553f1000000g|G$N|G$W$W|"
           "H|H$W|H$W 1|H$W 1 0|H$W 1 0 $W|H$W 1 0 $W |H$W 0 0 $W a x|"
           "H$W -1 0 $W a x|H$W 1 x $W a x|H$W 1 0 $W  x|H $W 1 0 $W a x|H$W 1 0 6553f100f4240 a x|"
           "H$W $T 0 $W a x|Hx 1 0 $W a x|H$W 1 0 0 a x|H$W 9007199254740991 0 $W a x|"
           "Q  1 2 0 4 5 |Q 1 $T 0 4 5 |Q $T 2 0 4 5 |Q 1 2 0 $T 5 |Q 1 2 0 4 $T |X $N|OK|1")) {
    EXPECT_FALSE(Answer::parse(text)) << "'" << text << "'";
  }
}

TEST(RedisAnswerTest, GrantedOfAKey) {
  EXPECT_EQ(Answer::parse("G 1 2 3 4")->run, 0U);
  const auto answer = Answer::parse("G 1 2 3 4 5");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->number, 2U);
  EXPECT_EQ(answer->lease, 4ms);
  EXPECT_EQ(answer->run, 5U);
}

TEST(RedisAnswerTest, Recorded) {
  const std::string bytes("\0 1\r\n\xff ", 7);
  const std::string print("\0 ", 2);
  for (const auto& [letter, state] :
       {std::pair{"Y", KeyState::succeeded}, std::pair{"F", KeyState::failed}}) {
    const auto answer = Answer::parse("D " + now + " " + letter + " 3 77 1 2 " + print + bytes);
    ASSERT_TRUE(answer && answer->record) << letter;
    EXPECT_EQ(answer->kind, Answer::Kind::recorded);
    EXPECT_EQ(answer->record->state, state);
    EXPECT_EQ(answer->record->run, 3U);
    EXPECT_EQ(answer->record->number, 77U);
    EXPECT_TRUE(answer->record->held);
    EXPECT_EQ(answer->record->fingerprint, print);
    EXPECT_EQ(answer->record->bytes, bytes);
  }
  const auto absent = Answer::parse("D " + now + " A 0 0 0 0 ");
  ASSERT_TRUE(absent && absent->record);
  EXPECT_EQ(absent->record->state, KeyState::absent);
  EXPECT_FALSE(absent->record->held);
  EXPECT_EQ(Answer::parse("D 1 P 1 2 0 3 abc")->record->state, KeyState::pending);
  EXPECT_EQ(Answer::parse("D 1 Y 1 2 0 0 " + std::string(longest_outcome, '\0'))->record->bytes,
            std::string(longest_outcome, '\0'));
  EXPECT_EQ(Answer::parse("D 1 Y 1 2 0 128 " + std::string(128, 'x'))->record->bytes, "");
}

TEST(RedisAnswerTest, WhatIsNoRecordIsRefused) {
  for (const std::string& text : texts(
           "D|D |D 1|D 1 Y|D 1 Y 1 2 0|D 1 Y 1 2 2 0 |D 1 Y 1 2 0 1 |D 1 Y 1 2 0 x a|D 1 y 1 2 0 0 "
           "|"
           "D 1 YY 1 2 0 0 |D 1  1 2 0 0 |D 1 Y 0 2 0 0 |D 1 Y 1 0 0 0 |D 1 A 1 0 0 0 |"
           "D 1 A 0 2 0 0 |D 1 P 1 2 0 0 bytes|D 1 A 0 0 0 0 bytes|D $T Y 1 2 0 0 |D 1 Y $T 2 0 0 |"
           "D 1 Y 1 $T 0 0 |D 1 Y -1 2 0 0 |D 1 Y 1 2 0 -1 ")) {
    EXPECT_FALSE(Answer::parse(text)) << "'" << text << "'";
  }
  EXPECT_FALSE(Answer::parse("D 1 Y 1 2 0 129 " + std::string(129, 'x')));
  EXPECT_FALSE(Answer::parse("D 1 Y 1 2 0 0 " + std::string(longest_outcome + 1, 'x')));
}

TEST(RedisAnswerTest, Released) {
  for (const char letter : {'F', 'A', 'L', 'N'}) {
    const auto answer = ReleaseAnswer::parse(std::string(1, letter));
    ASSERT_TRUE(answer) << letter;
    EXPECT_EQ(static_cast<char>(answer->outcome), letter);
    EXPECT_FALSE(answer->successor);
    const auto next = ReleaseAnswer::parse(std::string(1, letter) + " Q 5 6 1 7 8 me");
    ASSERT_TRUE(next && next->successor) << letter;
    EXPECT_EQ(next->successor->kind, Answer::Kind::queued);
    EXPECT_EQ(next->successor->label, "me");
  }
  EXPECT_EQ(ReleaseAnswer::parse("F R")->successor->kind, Answer::Kind::refused);
  for (const char* text : {"", " ", "f", "X", "OK", "FF", "F ", "F  R", "F x", "F G", "F G 1",
                           "F\nR", "F R ", "G 1700000000000000"}) {
    EXPECT_FALSE(ReleaseAnswer::parse(text)) << "'" << text << "'";
  }
}

TEST(RedisAnswerTest, Pushed) {
  const auto grant = Push::parse("G " + some_text + " 77 " + now + " 2000 m:{a b}");
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->kind, Push::Kind::granted);
  EXPECT_EQ(grant->attempt, some);
  EXPECT_EQ(grant->number, 77U);
  EXPECT_EQ(grant->granted_at, 1'700'000'000'000'000us);
  EXPECT_EQ(grant->lease, 2s);
  EXPECT_EQ(grant->key, "m:{a b}");
  const auto look = Push::parse("L " + some_text + " m:{a}");
  ASSERT_TRUE(look);
  EXPECT_EQ(look->kind, Push::Kind::look);
  EXPECT_EQ(look->attempt, some);
  EXPECT_EQ(look->key, "m:{a}");
  EXPECT_EQ(look->number, 0U);
  const auto concluded = Push::parse("D " + some_text + " 77 m:{a}!");
  ASSERT_TRUE(concluded);
  EXPECT_EQ(concluded->kind, Push::Kind::look);
  EXPECT_EQ(concluded->number, 77U);
  EXPECT_EQ(concluded->key, "m:{a}!");
  const auto run = Push::parse("K " + some_text + " 77 " + now + " 2000 3 m:{a}!");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->kind, Push::Kind::granted);
  EXPECT_EQ(run->number, 77U);
  EXPECT_EQ(run->run, 3U);
  EXPECT_EQ(run->key, "m:{a}!");
  const auto taken = Push::parse("T " + some_text + " " + largest + " m:{a}");
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->kind, Push::Kind::taken);
  EXPECT_EQ(taken->number, core::grant_number_limit - 1);
  for (const std::string& text :
       texts("|0|L|L |L $A|L $A |L 2a m:{a}|X $A m:{a}|LL $A m:{a}|T $A m:{a}|T $A 0 m:{a}|"
             "T $A $T m:{a}|G $A 0 1 2000 k|G $A 1 1 0 k|G $A 1 1 86400001 k|G $A 1 1 2000|"
             "D $A m:{a}!|D $A 0 m:{a}!|D $A $T m:{a}!|D $A 1 |K $A 1 1 2000 k|K $A 1 1 2000 0 k|"
             "K $A 1 1 2000 $T k|K $A 1 1 2000 1 |"
             "G $A 1 1 2000 |G $A 1  2000 k|G $A -1 1 2000 k|G $A 1 $T 2000 k|G $A  1 1 2000 k")) {
    EXPECT_FALSE(Push::parse(text)) << "'" << text << "'";
  }
}

// A reply that was cut is refused, or says the same but for less of its label, of the number of
// waiters and of the lease.
TEST(RedisAnswerTest, CutAnywhere) {
  const std::string grant = "G " + now + " 1700000000000001 1699999999000000 30000";
  for (std::size_t size = 0; size < grant.size(); ++size) {
    const auto answer = Answer::parse(grant.substr(0, size));
    EXPECT_EQ(answer.has_value(), size > grant.size() - 5) << size;
    if (!answer) continue;
    EXPECT_LT(answer->lease, 30s);
    EXPECT_EQ(answer->number, 1'700'000'000'000'001U);
  }
  const std::string queued = "Q " + now + " 2500999 1 77 12 label";
  const std::size_t waiters = queued.size() - 8;
  for (std::size_t size = 0; size < queued.size(); ++size) {
    const auto answer = Answer::parse(queued.substr(0, size));
    EXPECT_EQ(answer.has_value(), size > waiters) << size;
    if (!answer) continue;
    EXPECT_EQ(answer->left, 2'500'999us);
    EXPECT_EQ(answer->holder_number, 77U);
  }
  const std::string push = "G " + some_text + " 77 " + now + " 2000 m:{a}";
  for (std::size_t size = 0; size + 5 <= push.size(); ++size) {
    EXPECT_FALSE(Push::parse(push.substr(0, size))) << size;
  }
}

TEST(RedisAnswerTest, RandomBytesAreHarmless) {
  std::mt19937_64 random(model::test_seed());
  const std::vector<std::string> good = texts(
      "G$W|G $N 77 $N 30000|H$W 30000 1 $W $A me|Q $N 5 1 7 8 me|F R|F Q 1 2 1 4 5 me|"
      "G $N 77 $N 30000 2|D $N Y 1 77 0 3 abcdef|D $A 77 m:{a}!|K $A 77 $N 2000 2 m:{a}!|"
      "G $A 77 $N 2000 m:{a}|T $A 77 m:{a}|L $A m:{a}");
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good[random() % good.size()];
    if (round % 4 == 0) text.assign(random() % 80, ' ');
    for (std::uint64_t change = random() % (round % 4 == 0 ? 80 : 4); change > 0; --change) {
      if (text.empty()) break;
      text[random() % text.size()] = static_cast<char>(random());
    }
    if (const auto answer = Answer::parse(text)) {
      EXPECT_LT(answer->number, core::grant_number_limit);
      EXPECT_LT(answer->holder_number, core::grant_number_limit);
      EXPECT_LE(answer->lease, core::longest_lease);
      EXPECT_EQ(answer->kind == Answer::Kind::granted, answer->number != 0) << text;
      EXPECT_EQ(answer->holder().has_value(), answer->left > 0us);
      EXPECT_EQ(answer->kind == Answer::Kind::recorded, answer->record != nullptr) << text;
    }
    if (const auto answer = ReleaseAnswer::parse(text)) {
      EXPECT_EQ(text.size() > 1, answer->successor.has_value());
    }
    if (const auto push = Push::parse(text)) {
      EXPECT_FALSE(push->key.empty());
      EXPECT_TRUE(push->number != 0 || push->kind == Push::Kind::look) << text;
      EXPECT_TRUE(push->run == 0 || push->kind == Push::Kind::granted) << text;
    }
  }
}

}  // namespace
}  // namespace mortise::redis
