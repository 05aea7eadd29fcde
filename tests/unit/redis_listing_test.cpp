// SPDX-License-Identifier: MIT
// Goal: no name leads a list astray, and no reply or cursor that makes no sense is taken for one
// that does. Method: patterns and texts by hand, whole ones and ones that are cut off anywhere.
#include "core/figures.hpp"
#include "redis/store/listing.hpp"
#include "unit/redis_items_fixture.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace mortise::redis {
namespace {

/// A page: where it goes on, and keys.
Reply page_of(const std::vector<std::string>& words) {
  Reply reply = list_of({});
  for (const std::string& each : words) reply.items.push_back(word(each));
  return reply;
}

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
  const auto list = parse_list("m:", Mode::exclusive, page_of({"17", "m:{a}", "m:{%25}"}));
  ASSERT_TRUE(list);
  EXPECT_EQ(list->at, "17");
  EXPECT_FALSE(list->ended);
  EXPECT_EQ(list->left, (Names{"a", "%"}));
  EXPECT_TRUE(parse_list("m:", Mode::exclusive, page_of({"0"})).value().ended);
  const Reply twice = page_of({"0", "m:{a}", "m:{a}"});
  EXPECT_EQ(parse_list("m:", Mode::exclusive, twice).value().left, Names{"a"}) << "told twice";
}

TEST(RedisListing, KeysThatOnlyLookLikeOursAreLeftOut) {
  const Reply reply = page_of(
      {"0", "m:{a}", "m:{b}!", "m:{c}#", "m:{{a}}", "n:{a}", "m:{}", "m:{%41}", "m:{d}:queue"});
  const auto listed = [&](Mode mode) { return parse_list("m:", mode, reply).value().left; };
  EXPECT_EQ(listed(Mode::exclusive), Names{"a"});
  EXPECT_EQ(listed(Mode::once), Names{"b"});
  EXPECT_EQ(listed(Mode::permit), Names{"c"});
  const std::string longest = "m:{" + std::string(513, 'x') + "}";
  EXPECT_EQ(parse_list("m:", Mode::exclusive, page_of({"0", longest})).value().left, Names{});
}

TEST(RedisListing, WhatMakesNoSenseIsNoReply) {
  for (const char* const cursor : {"", "x", "-1", "17 ", "123456789012345678901"}) {
    EXPECT_FALSE(parse_list("m:", Mode::exclusive, page_of({cursor}))) << cursor;
  }
  for (const Reply& wrong : {word("17"), list_of({}), list_of({integer(17)}),
                             list_of({word("17"), integer(1)}), list_of({word("17"), Reply()})}) {
    EXPECT_FALSE(parse_list("m:", Mode::exclusive, wrong));
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

constexpr long long listed_at = 1'700'000'000'500'000;
constexpr long long granted_at = 1'700'000'000'000'000;

/// How queue.lua begins, of a lock.
std::vector<Reply> answer_of(const char* kind, long long left, long long number, long long waiters,
                             std::string label) {
  return {word(kind),         integer(listed_at), integer(left),          integer(0),
          integer(number),    integer(waiters),   word(std::move(label)), word("w"),
          integer(granted_at)};
}
Reply queue_reply(std::vector<Reply> answer, std::vector<Reply> waiting,
                  std::vector<Reply> holders) {
  answer.push_back(list_of(std::move(waiting)));
  answer.push_back(list_of(std::move(holders)));
  return list_of(std::move(answer));
}

TEST(RedisListing, AQueueIsItsWaitersAndItsHolder) {
  const auto queue = parse_queue(
      queue_reply(answer_of("held", 2'500'000, granted_at, 3, "me"),
                  {integer(1500), word("w"), word("one"), integer(2'000'000), word("r"), word("")},
                  {word("w"), integer(granted_at), integer(2'500'000), word("me")}));
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
  const auto queue = parse_queue(
      queue_reply(answer_of("held", 9'000'000, granted_at + 400'000, 1, "two"), {},
                  {word("r"), integer(granted_at + 400'000), integer(9'000'000), word("two"),
                   word("w"), integer(granted_at), integer(1'000), word("one")}));
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
  const auto free = parse_queue(queue_reply(answer_of("free", 0, 0, 0, ""), {}, {}));
  EXPECT_TRUE(free.value().holders.empty());
  std::vector<HoldMark> marks;
  const auto theirs =
      parse_queue(queue_reply(answer_of("held", 100'000, 0, 0, "redisson u:1"), {}, {}), &marks)
          .value();
  ASSERT_EQ(theirs.holders.size(), 1U);
  EXPECT_EQ(theirs.holders[0].label, "redisson u:1");
  EXPECT_EQ(theirs.holders[0].token, Token());
  EXPECT_FALSE(theirs.holders[0].age);
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_EQ(marks[0].mark, "-1700000000000000 u:1") << "by which its release by force knows it";
}

// It has one holder at most, and no list of holders.
TEST(RedisListing, AQueueOfAKey) {
  std::vector<Reply> answer = answer_of("held", 2'500'000, granted_at, 3, "me");
  answer.resize(7);
  answer.push_back(list_of({integer(1'500), word("w"), word("b")}));
  const auto queue = parse_queue(list_of(answer));
  ASSERT_TRUE(queue);
  ASSERT_EQ(queue->holders.size(), 1U);
  EXPECT_EQ(queue->holders[0].label, "me");
  EXPECT_EQ(queue->waiters_in_all, 3U);
  ASSERT_EQ(queue->waiters.size(), 1U);
  EXPECT_EQ(queue->waiters[0].label, "b");
  answer.pop_back();
  EXPECT_FALSE(parse_queue(list_of(answer))) << "without a list";
}

TEST(RedisListing, WhatIsNoQueueIsNone) {
  const std::vector<Reply> free = answer_of("free", 0, 0, 0, "");
  ASSERT_TRUE(parse_queue(queue_reply(free, {}, {})));
  EXPECT_FALSE(parse_queue(list_of(free)));
  EXPECT_FALSE(parse_queue(queue_reply(answer_of("queued", 0, 0, 0, ""), {}, {})));
  EXPECT_FALSE(parse_queue(word("free")));
  const std::string too_long(core::longest_label + 1, 'x');
  const std::vector<std::vector<Reply>> no_waiters{
      {integer(1)},
      {integer(1), word("w")},
      {integer(-1), word("w"), word("")},
      {integer(1), word("o"), word("")},
      {integer(1), word("w"), integer(1)},
      {integer(1), word("w"), word(too_long)},
      {integer(1), word("w"), word(""), integer(1)},
  };
  for (const auto& wrong : no_waiters) EXPECT_FALSE(parse_queue(queue_reply(free, wrong, {})));
  const std::vector<std::vector<Reply>> no_holders{
      {word("w")},
      {word("w"), integer(1), integer(1)},
      {word("x"), integer(1), integer(1), word("")},
      {word("r"), integer(0), integer(1), word("")},
      {word("r"), integer(1), integer(-1), word("")},
      {word("r"), integer(1), integer(1), word(too_long)},
  };
  for (const auto& wrong : no_holders) EXPECT_FALSE(parse_queue(queue_reply(free, {}, wrong)));
}

}  // namespace
}  // namespace mortise::redis
