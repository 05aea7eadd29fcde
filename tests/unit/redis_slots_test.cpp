// SPDX-License-Identifier: MIT
// Goal: a name lies in the slot that its cluster counts, and what servers say of slots is read as
// they mean it, or not at all. Method: figures of the specification, and replies by hand.
#include "redis/topology/slots.hpp"

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
      {number(first), number(last),
       list({std::move(host), number(port), text("id-" + std::to_string(first)), list({})})});
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
  Reply second = range(5461, 16383, text("node-2.example"), 7002);
  second.items.push_back(list({text("10.0.0.3"), number(7003), text("replica"), list({})}));
  const auto table = parse_slots(list({range(0, 5460, text("10.0.0.1")), second}), asked);
  ASSERT_TRUE(table);
  EXPECT_TRUE(table->whole);
  ASSERT_EQ(table->ranges.size(), 2U);
  EXPECT_EQ(table->ranges.at(0).last, 5460);
  EXPECT_EQ(table->ranges.at(0).master.text(), "10.0.0.1:7001");
  EXPECT_EQ(table->ranges.at(1).first, 5461);
  EXPECT_EQ(table->ranges.at(1).master.text(), "node-2.example:7002");
  EXPECT_EQ(table->nodes, (NodeIds{"id-0", "id-5461", "replica"}));
  EXPECT_EQ(table->masters, (NodeIds{"id-0", "id-5461"}));
  EXPECT_TRUE(parse_slots(list({}), asked));
}

std::string bulk_bytes(const std::string& bytes) {
  return "$" + std::to_string(bytes.size()) + "\r\n" + bytes + "\r\n";
}

// As tools leave it that move slots one by one.
TEST(RedisSlotsTest, ATableOfSingleSlotsIsReadAsAWhole) {
  std::string node =
      "*4\r\n" + bulk_bytes("255.255.255.255") + ":65535\r\n" + bulk_bytes(std::string(40, 'f'));
  node += "*2\r\n" + bulk_bytes("hostname") + bulk_bytes(std::string(60, 'h'));
  std::string bytes = "*" + std::to_string(slot_count) + "\r\n";
  for (std::size_t slot = 0; slot < slot_count; ++slot) {
    bytes += "*6\r\n:" + std::to_string(slot) + "\r\n:" + std::to_string(slot) + "\r\n";
    for (int i = 0; i < 4; ++i) bytes += node;
  }
  ReplyReader reader(slots_limits);
  reader.feed(bytes);
  Reply reply;
  ASSERT_EQ(reader.next(reply), ReplyReader::Next::reply) << reader.error();
  const auto table = parse_slots(reply, asked);
  ASSERT_TRUE(table);
  EXPECT_TRUE(table->whole);
  EXPECT_EQ(table->ranges.size(), slot_count);
}

// Behind NAT, or with cluster-preferred-endpoint-type unknown-endpoint.
TEST(RedisSlotsTest, AServerWithoutANameIsTheOneThatWasAsked) {
  for (const Reply& host : {text(""), text("?"), Reply{}}) {
    const auto table = parse_slots(list({range(0, 9, host)}), asked);
    ASSERT_TRUE(table);
    EXPECT_EQ(table->ranges.front().master.text(), "10.0.0.9:7001");
  }
  EXPECT_EQ(parse_redirection("MOVED 5 :7003", asked)->to.text(), "10.0.0.9:7003");
  EXPECT_EQ(parse_redirection("ASK 5 ?:7003", asked)->to.text(), "10.0.0.9:7003");
}

// A master has no address in the others' eyes when its container came back without its volume. The
// other masters go on, and one of them may be replaced just then.
TEST(RedisSlotsTest, WhatIsOfNoUseIsLeftOutAndTheRestIsRead) {
  const std::vector<Reply> useless{
      range(10, 19, text(""), 0),
      range(10, 19, Reply{}, 0),
      range(10, 19, text("h"), 65536),
      range(10, 19, number(1)),
      range(10, 19, text("h\nforged: line")),
      range(19, 10, text("h")),
      range(-1, 19, text("h")),
      range(10, 16384, text("h")),
      range(9, 9, text("h")),  // which has a master already: there are no more of them than slots
      list({number(10), number(19)}),
      list({list({number(10), number(19)})}),
      number(1),
      text("x"),
  };
  for (const Reply& each : useless) {
    const auto table =
        parse_slots(list({range(0, 9, text("a")), each, range(20, 29, text("b"))}), asked);
    ASSERT_TRUE(table);
    EXPECT_FALSE(table->whole);
    ASSERT_EQ(table->ranges.size(), 2U);
    EXPECT_EQ(table->ranges.at(0).master.text(), "a:7001");
    EXPECT_EQ(table->ranges.at(1).master.text(), "b:7001");
    EXPECT_TRUE(table->nodes.contains("id-0") && table->nodes.contains("id-20"));
  }
}

TEST(RedisSlotsTest, WhatMakesNoSenseIsNotRead) {
  EXPECT_FALSE(parse_slots(text("x"), asked));
  EXPECT_FALSE(parse_slots(list({number(1)}), asked));
  EXPECT_FALSE(parse_slots(list({list({number(0), number(9)})}), asked));
  for (const char* words : {"MOVED", "MOVED ", "MOVED 5", "MOVED 5 ", "MOVED 5 h",
                            "MOVED 5 h:", "MOVED 5 h:0", "MOVED 16384 h:1", "MOVED -1 h:1",
                            "MOVED x h:1", "MOVED 5 h:65536", "ASKING 5 h:1", "TRYAGAIN", ""}) {
    EXPECT_FALSE(parse_redirection(words, asked)) << words;
  }
  // It says so much that the name is not here.
  EXPECT_TRUE(is_redirection("MOVED 5 :0"));
  EXPECT_TRUE(is_redirection("ASK 5 :0"));
  EXPECT_FALSE(is_redirection("MOVEDOUT"));
}

// It would be connected to, and would stand in messages, and so in logs.
TEST(RedisSlotsTest, WhatIsNoHostIsNotRead) {
  const std::string longest(255, 'x');
  EXPECT_EQ(parse_slots(list({range(0, 9, text(longest))}), asked)->ranges.size(), 1U);
  for (const std::string& host :
       {std::string("h\nforged: line"), std::string("h\0x", 3), std::string("a b"),
        std::string("\x1b[2J"), longest + "x", std::string("h/path"), std::string("\xc3\xa4")}) {
    EXPECT_TRUE(parse_slots(list({range(0, 9, text(host))}), asked)->ranges.empty()) << host;
    EXPECT_FALSE(parse_redirection("MOVED 5 " + host + ":1", asked)) << host;
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
