// SPDX-License-Identifier: MIT
// Goal: a name lies in the slot that its cluster counts, and what servers say of slots is read as
// they mean it, or not at all. Method: figures of the specification, and replies by hand.
#include "redis/slots.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace mortise::redis {
namespace {

const base::Address asked{.host = "10.0.0.9", .port = 7000, .path = {}};

Reply number(long long value) { return {.kind = Reply::Kind::integer, .integer = value}; }
Reply text(std::string value) { return {.kind = Reply::Kind::string, .text = std::move(value)}; }
Reply list(std::vector<Reply> items) {
  return {.kind = Reply::Kind::array, .items = std::move(items)};
}
Reply range(long long first, long long last, Reply host, long long port = 7001) {
  return list(
      {number(first), number(last), list({std::move(host), number(port), text("id"), list({})})});
}

TEST(RedisSlotsTest, ANameHasTheSlotOfItsHashTag) {
  // By CLUSTER KEYSLOT "mortise:{...}" of Redis 7.0; the first is the specification's own.
  EXPECT_EQ(slot_of("123456789"), 0x31c3);
  EXPECT_EQ(slot_of("a"), 15495);
  EXPECT_EQ(slot_of("user1000"), 3443);
}

// The key has %7B for a brace, and that is what the server counts.
TEST(RedisSlotsTest, ANameWithBracesIsCountedAsItsKeyHasIt) {
  EXPECT_EQ(slot_of("x{1}%"), slot_of_tag("x%7B1%7D%25"));
}

TEST(RedisSlotsTest, RangesAreReadWithTheirMasters) {
  const auto ranges = parse_slots(
      list({range(0, 5460, text("10.0.0.1")), range(5461, 16383, text("node-2.example"), 7002)}),
      asked);
  ASSERT_TRUE(ranges);
  ASSERT_EQ(ranges->size(), 2U);
  EXPECT_EQ(ranges->at(0).last, 5460);
  EXPECT_EQ(ranges->at(0).master.text(), "10.0.0.1:7001");
  EXPECT_EQ(ranges->at(1).first, 5461);
  EXPECT_EQ(ranges->at(1).master.text(), "node-2.example:7002");
  EXPECT_TRUE(parse_slots(list({}), asked));
}

// Behind NAT, or with cluster-preferred-endpoint-type unknown-endpoint.
TEST(RedisSlotsTest, AServerWithoutANameIsTheOneThatWasAsked) {
  for (const Reply& host : {text(""), text("?"), Reply{}}) {
    const auto ranges = parse_slots(list({range(0, 9, host)}), asked);
    ASSERT_TRUE(ranges);
    EXPECT_EQ(ranges->front().master.text(), "10.0.0.9:7001");
  }
  EXPECT_EQ(parse_redirection("MOVED 5 :7003", asked)->to.text(), "10.0.0.9:7003");
  EXPECT_EQ(parse_redirection("ASK 5 ?:7003", asked)->to.text(), "10.0.0.9:7003");
}

TEST(RedisSlotsTest, WhatMakesNoSenseIsNotRead) {
  EXPECT_FALSE(parse_slots(text("x"), asked));
  EXPECT_FALSE(parse_slots(list({number(1)}), asked));
  EXPECT_FALSE(parse_slots(list({list({number(0), number(9)})}), asked));
  EXPECT_FALSE(parse_slots(list({range(9, 0, text("h"))}), asked));
  EXPECT_FALSE(parse_slots(list({range(-1, 0, text("h"))}), asked));
  EXPECT_FALSE(parse_slots(list({range(0, 16384, text("h"))}), asked));
  EXPECT_FALSE(parse_slots(list({range(0, 9, text("h"), 0)}), asked));
  EXPECT_FALSE(parse_slots(list({range(0, 9, text("h"), 65536)}), asked));
  EXPECT_FALSE(parse_slots(list({range(0, 9, number(1))}), asked));
  for (const char* words : {"MOVED", "MOVED ", "MOVED 5", "MOVED 5 ", "MOVED 5 h",
                            "MOVED 5 h:", "MOVED 5 h:0", "MOVED 16384 h:1", "MOVED -1 h:1",
                            "MOVED x h:1", "MOVED 5 h:65536", "ASKING 5 h:1", "TRYAGAIN", ""}) {
    EXPECT_FALSE(parse_redirection(words, asked)) << words;
  }
}

TEST(RedisSlotsTest, ARedirectionSaysWhereToAndWhetherForOnce) {
  const auto moved = parse_redirection("MOVED 3999 127.0.0.1:6381", asked);
  ASSERT_TRUE(moved);
  EXPECT_FALSE(moved->for_once);
  EXPECT_EQ(moved->slot, 3999);
  EXPECT_EQ(moved->to.text(), "127.0.0.1:6381");
  const auto once = parse_redirection("ASK 16383 fe80::1:6382", asked);
  ASSERT_TRUE(once);
  EXPECT_TRUE(once->for_once);
  EXPECT_EQ(once->to.text(), "[fe80::1]:6382");
}

}  // namespace
}  // namespace mortise::redis
