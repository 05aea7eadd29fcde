// SPDX-License-Identifier: MIT
// Goal: no name leads a list astray, and no reply or cursor that makes no sense is taken for one
// that does. Method: patterns and texts by hand, whole ones and ones that are cut off anywhere.
#include "redis/listing.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mortise::redis {
namespace {

using Names = std::vector<std::string>;
using namespace std::string_literals;

TEST(RedisListing, APatternIsTheBytesThatHaveToBeThere) {
  EXPECT_EQ(key_pattern("mortise:", "", Mode::exclusive), "mortise:{*}");
  EXPECT_EQ(key_pattern("mortise:", "orders/", Mode::exclusive), "mortise:{orders/*}");
  EXPECT_EQ(key_pattern("m[1]*:", "a?", Mode::exclusive), R"(m\[1\]\*:{a\?*})");
  EXPECT_EQ(key_pattern("m:", R"(\)", Mode::exclusive), R"(m:{\\*})");
  EXPECT_EQ(key_pattern("m:", "{%}", Mode::exclusive), "m:{%7B%25%7D*}");
  EXPECT_EQ(key_pattern("m:", "a\0b"s, Mode::exclusive), "m:{a\0b*}"s);
  EXPECT_EQ(key_pattern("m:", "a?", Mode::once), R"(m:{a\?*}!)");
  EXPECT_EQ(key_pattern("m:", "}", Mode::permit), "m:{%7D*}#");
}

TEST(RedisListing, AReplyIsACursorAndKeys) {
  const auto list = parse_list("m:", Mode::exclusive, "17 5 m:{a} 7 m:{%25}");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->at, "17");
  EXPECT_FALSE(list->ended);
  EXPECT_EQ(list->left, (Names{"a", "%"}));
  EXPECT_TRUE(parse_list("m:", Mode::exclusive, "0").value().ended);
  EXPECT_EQ(parse_list("m:", Mode::exclusive, "0 5 m:{a} 5 m:{a}").value().left, Names{"a"})
      << "told twice";
}

TEST(RedisListing, KeysThatOnlyLookLikeOursAreLeftOut) {
  const char* const reply = "0 5 m:{a} 6 m:{b}! 6 m:{c}# 7 m:{{a}} 5 n:{a} 4 m:{} 7 m:{%41}";
  const auto listed = [&](Mode mode) { return parse_list("m:", mode, reply).value().left; };
  EXPECT_EQ(listed(Mode::exclusive), Names{"a"});
  EXPECT_EQ(listed(Mode::once), Names{"b"});
  EXPECT_EQ(listed(Mode::permit), Names{"c"});
  const std::string longest = "m:{" + std::string(513, 'x') + "}";
  EXPECT_EQ(parse_list("m:", Mode::exclusive, "0 517 " + longest).value().left, Names{});
}

TEST(RedisListing, WhatIsCutOffIsNoReply) {
  const std::string whole = "17 5 m:{a} 5 m:{b}";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto list = parse_list("m:", Mode::exclusive, whole.substr(0, size));
    const bool may_end = size == 1 || size == 2 || size == 10;  // a cursor, or a whole key
    EXPECT_EQ(list.has_value(), may_end) << size;
  }
  for (const char* const wrong : {"x", "-1", "17 ", "17  5 m:{a}", "17 99999999999999999999 m",
                                  "17 6 m:{a}", "123456789012345678901", "17 5m:{a}"}) {
    EXPECT_FALSE(parse_list("m:", Mode::exclusive, wrong)) << wrong;
  }
}

TEST(RedisListing, ACursorGoesOnWithTheNamesThatWereLeft) {
  ListCursor cursor{.at = "17", .left = {"a", "b b", "c\0 3 x"s, std::string(512, '9')}};
  const NamePage page = cursor.take(1, "");
  EXPECT_EQ(page.names, Names{"a"});
  const auto next = ListCursor::parse(page.cursor);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->at, "17");
  EXPECT_FALSE(next->ended);
  EXPECT_EQ(next->left, (Names{"b b", "c\0 3 x"s, std::string(512, '9')}));
  ListCursor last{.at = "0", .ended = true, .left = {"a", "b"}};
  const auto rest = ListCursor::parse(last.take(1, "").cursor);
  ASSERT_TRUE(rest);
  EXPECT_TRUE(rest->ended);
  ListCursor again = *rest;
  EXPECT_EQ(again.take(5, "").names, Names{"b"});
  EXPECT_EQ(again.text(), "");
}

TEST(RedisListing, ACursorOfAnotherPrefixBringsNoOtherNames) {
  ListCursor cursor{.at = "0", .ended = true, .left = {"a1", "b1"}};
  EXPECT_EQ(cursor.take(5, "b").names, Names{"b1"});
}

TEST(RedisListing, ACursorThatNobodyHasMadeIsNone) {
  for (const std::string& wrong :
       {"x"s, "-1"s, " "s, ". "s, ".1"s, "0 "s, "0 1"s, "0 5 a"s, "0 0 "s,
        "0 513 "s + std::string(513, 'x'), "1 1 a b"s, std::string(21, '1'), "\0"s, "1\0"s}) {
    EXPECT_FALSE(ListCursor::parse(wrong)) << ::testing::PrintToString(wrong);
  }
  EXPECT_TRUE(ListCursor::parse(""));
}

TEST(RedisListing, AQueueIsItsWaitersAndItsHolder) {
  const auto queue = parse_queue(
      "2 1500 o 3 one 2000000 s 0  0 O 1700000000500000 2500000 0 1700000000000000 3 me");
  ASSERT_TRUE(queue);
  ASSERT_EQ(queue->waiters.size(), 2U);
  EXPECT_EQ(queue->waiters[0].label, "one");
  EXPECT_EQ(queue->waiters[0].silent_for, std::chrono::milliseconds(1));
  EXPECT_EQ(queue->waiters[0].mode, Mode::exclusive);
  EXPECT_EQ(queue->waiters[1].label, "");
  EXPECT_EQ(queue->waiters[1].mode, Mode::shared);
  EXPECT_EQ(queue->waiters[1].silent_for, std::chrono::seconds(2));
  EXPECT_EQ(queue->waiters_in_all, 3U);
  ASSERT_EQ(queue->holders.size(), 1U);
  EXPECT_EQ(queue->holders[0].label, "me");
  EXPECT_EQ(queue->holders[0].age, std::chrono::milliseconds(500));
  EXPECT_EQ(queue->holders[0].expires_in, std::chrono::milliseconds(2500));
  EXPECT_EQ(queue->holders[0].token, Token(1'700'000'000'000'000U * 1024));
}

TEST(RedisListing, WhoHoldsItWithOthersIsToldEach) {
  const std::string answer = "O 1700000000500000 9000000 0 *1700000000400000 1700000000000000 1 ";
  const auto queue = parse_queue(
      "0 2 s 1700000000400000 9000000 3 two "
      "o 1700000000000000 1000 3 one " +
      answer + "one");
  ASSERT_TRUE(queue);
  ASSERT_EQ(queue->holders.size(), 2U) << "each, and none once more by the answer";
  EXPECT_EQ(queue->holders[0].label, "one") << "in the order of their grants";
  EXPECT_EQ(queue->holders[0].mode, Mode::exclusive);
  EXPECT_EQ(queue->holders[0].expires_in, std::chrono::milliseconds(1));
  EXPECT_EQ(queue->holders[1].label, "two");
  EXPECT_EQ(queue->holders[1].mode, Mode::shared);
  EXPECT_EQ(queue->holders[1].age, std::chrono::milliseconds(100));
  EXPECT_EQ(queue->holders[1].token, Token(1'700'000'000'400'000U * 1024));
  EXPECT_EQ(queue->waiters_in_all, 1U);
}

TEST(RedisListing, AFreeLockHasNoHolderAndAStrangersHasNoToken) {
  EXPECT_TRUE(
      parse_queue("0 0 E 1700000000500000 0 0 1700000000000000 0 ").value().holders.empty());
  std::vector<HoldMark> marks;
  const auto theirs =
      parse_queue("0 0 O 1700000000500000 100000 0 -1700000000000000 0 redisson u:1", &marks)
          .value();
  ASSERT_EQ(theirs.holders.size(), 1U);
  EXPECT_EQ(theirs.holders[0].label, "redisson u:1");
  EXPECT_EQ(theirs.holders[0].token, Token());
  EXPECT_FALSE(theirs.holders[0].age);
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_EQ(marks[0].mark, "-1700000000000000 u:1") << "by which its release by force knows it";
}

TEST(RedisListing, OneHoldIsToldAsAQueue) {
  EXPECT_TRUE(parse_hold("E 1700000000500000 0 0 1700000000000000 0 ").value().holders.empty());
  const auto one =
      parse_hold("O 1700000000500000 9000000 0 *1700000000400000 1700000000000000 1 me");
  ASSERT_TRUE(one);
  ASSERT_EQ(one->holders.size(), 1U);
  EXPECT_EQ(one->holders[0].label, "me");
  EXPECT_EQ(one->holders[0].mode, Mode::shared);
  EXPECT_EQ(one->holders[0].token, token_of(1'700'000'000'000'000U));
  EXPECT_EQ(one->waiters_in_all, 1U);
  EXPECT_FALSE(parse_hold("0 0 E 1700000000500000 0 0 1 0 "));
  EXPECT_FALSE(parse_hold("R"));
}

TEST(RedisListing, WhatIsNoQueueIsNone) {
  const std::string free = "E 1700000000500000 0 0 1 0 ";
  ASSERT_TRUE(parse_queue("0 0 " + free));
  for (const std::string& wrong : {""s,
                                   "0"s,
                                   "0 "s,
                                   "-1 "s,
                                   "x"s,
                                   "0 0 "s,
                                   "1001 "s,
                                   "0 "s + free,
                                   "0 0 Q 1 0 0 1 0 x"s,
                                   "0 0 R"s,
                                   "0 0 G 1 1 1 1"s,
                                   "1 5 o 3 on"s,
                                   "1 5 o 3 one0 " + free,
                                   "1 -5 o 3 one 0 " + free,
                                   "1 5 x 3 one 0 " + free,
                                   "1 5 o3 one 0 " + free,
                                   "1 5 o 129 "s + std::string(129, 'x') + " 0 " + free,
                                   "1 99999999999999999 o 0  0 " + free,
                                   "2 5 o 3 one 0 " + free,
                                   "0 1001 " + free,
                                   "0 1 " + free,
                                   "0 1 s 0 5 0  " + free,
                                   "0 1 s 5 5 3 on " + free,
                                   "0 1 p 5 5 0  " + free,
                                   "0 1 s 99999999999999999 5 0  " + free,
                                   "0 1 s 5 99999999999999999 0  " + free,
                                   "0 1 s -5 5 0  " + free,
                                   "0 2 s 5 5 0  " + free}) {
    EXPECT_FALSE(parse_queue(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace mortise::redis
