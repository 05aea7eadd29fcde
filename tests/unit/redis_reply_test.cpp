// SPDX-License-Identifier: MIT
// Goal: replies are read however they arrive, and a hostile server gets neither memory nor a crash.
// Method: known answers, hostile answers, and random replies written by an own writer, in pieces.
#include "model/seed.hpp"
#include "redis/store/reply.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>

namespace mortise::redis {
namespace {

using Kind = Reply::Kind;
using Next = ReplyReader::Next;

void feed(ReplyReader& reader, std::string_view bytes) {
  reader.feed({bytes.data(), bytes.size()});
}

// A line for each reply: what the test compares.
std::string shown(const Reply& reply) {
  switch (reply.kind) {
    case Kind::nil: return "nil";
    case Kind::status: return "+" + reply.text;
    case Kind::error: return "-" + reply.text;
    case Kind::integer: return std::to_string(reply.integer);
    case Kind::string: return "'" + reply.text + "'";
    case Kind::array: break;
  }
  std::string text = "[";
  for (const Reply& item : reply.items) text += shown(item) + " ";
  return text + "]";
}

// Reads all, a line each; ends with "broken" where it broke.
std::string read(ReplyReader& reader) {
  std::string text;
  Reply reply;
  for (;;) {
    switch (reader.next(reply)) {
      case Next::more: return text;
      case Next::broken: return text + "broken";
      case Next::reply: text += shown(reply) + "\n"; break;
    }
  }
}

std::string read(std::string_view bytes) {
  ReplyReader reader;
  feed(reader, bytes);
  return read(reader);
}

TEST(RedisReplyTest, KnownAnswers) {
  EXPECT_EQ(read("+OK\r\n"), "+OK\n");
  EXPECT_EQ(read("-ERR no\r\n"), "-ERR no\n");
  EXPECT_EQ(read(":-12\r\n:9223372036854775807\r\n"), "-12\n9223372036854775807\n");
  EXPECT_EQ(read("$-1\r\n*-1\r\n"), "nil\nnil\n");
  EXPECT_EQ(read("$0\r\n\r\n*0\r\n"), "''\n[]\n");
  EXPECT_EQ(read("$4\r\na\r\nb\r\n"), "'a\r\nb'\n");
  EXPECT_EQ(read("*3\r\n$1\r\na\r\n*2\r\n:1\r\n$-1\r\n+x\r\n"), "['a' [1 nil ] +x ]\n");
  EXPECT_EQ(read(""), "");
  Reply error;
  ReplyReader reader;
  feed(reader, "-x\r\n");
  ASSERT_EQ(reader.next(error), Next::reply);
  EXPECT_TRUE(error.is_error());
}

TEST(RedisReplyTest, WhatIsNoReplyBreaksItForEver) {
  for (const std::string_view bytes :
       {"?\r\n", "HTTP/1.1 400 Bad Request\r\n", "*-5\r\n", "$-5\r\n", "*x\r\n", "$x\r\n",
        "$1x\r\n", ":x\r\n", ":\r\n", ":1 \r\n", ":9223372036854775808\r\n",
        ":99999999999999999999999\r\n", "$99999999999999999999999\r\n",
        "*99999999999999999999999\r\n", "*1\r\n?\r\n", "\r\n", "\x16\x03\x01"}) {
    ReplyReader reader;
    feed(reader, "+first\r\n");
    feed(reader, bytes);
    EXPECT_EQ(read(reader), "+first\nbroken") << bytes;
    EXPECT_FALSE(reader.error().empty());
    feed(reader, "+OK\r\n");
    EXPECT_EQ(read(reader), "broken") << bytes;
  }
}

TEST(RedisReplyTest, HugePromisesAreRefusedWhenTheyAreMade) {
  for (const std::string_view bytes :
       {"*2147483647\r\n", "*8193\r\n", "*2\r\n*4500\r\n", "*8000\r\n*193\r\n", "$2147483647\r\n",
        "$262145\r\n", "*2\r\n$3\r\nabc\r\n$262142\r\n", "*1\r\n$9223372036854775807\r\n"}) {
    ReplyReader reader;
    feed(reader, bytes);
    if (bytes == "*2\r\n*4500\r\n") {  // fits, until its sibling comes
      EXPECT_EQ(read(reader), "");
      std::string rest;
      for (int i = 0; i < 4500; ++i) rest += ":1\r\n";
      feed(reader, rest + "*4500\r\n");
    }
    EXPECT_EQ(read(reader), "broken") << bytes;
    EXPECT_NE(reader.error().find("more than"), std::string::npos) << reader.error();
  }
}

TEST(RedisReplyTest, TheLimitsThemselvesFit) {
  const std::string most(std::size_t{256} << 10U, 'x');
  EXPECT_EQ(read("$262144\r\n" + most + "\r\n").size(), most.size() + 3);
  // They count anew for each reply.
  ReplyReader reader;
  for (int i = 0; i < 5; ++i) {
    feed(reader, "*8192\r\n$262144\r\n" + most + "\r\n");
    for (int item = 1; item < 8192; ++item) feed(reader, "*0\r\n");
    EXPECT_EQ(read(reader).size(), most.size() + 3 + 3 * 8191 + 3);
  }
}

TEST(RedisReplyTest, AnEndlessLineIsRefused) {
  for (const char* begin : {"+", "-", ":", "$", "*", "*1\r\n+"}) {
    ReplyReader reader;
    feed(reader, begin);
    std::size_t fed = 0;
    while (read(reader).empty() && fed < (std::size_t{1} << 20U)) {
      feed(reader, std::string(1000, '1'));
      fed += 1000;
    }
    EXPECT_LE(fed, 20'000U) << begin;
    EXPECT_EQ(read(reader), "broken");
  }
}

TEST(RedisReplyTest, NestingHasAnEnd) {
  std::string bytes;
  for (int depth = 1; depth <= 7; ++depth) {
    bytes += "*1\r\n";
    EXPECT_EQ(
        read(bytes + ":1\r\n"), std::string(static_cast<std::size_t>(depth), '[') + "1 " + [&] {
          std::string end = "]";
          for (int i = 1; i < depth; ++i) end += " ]";
          return end;
        }() + "\n");
  }
  std::string deep;
  for (int depth = 0; depth < 100'000; ++depth) deep += "*1\r\n";
  EXPECT_EQ(read(deep), "broken");
}

TEST(RedisReplyTest, APrefixWaitsForMore) {
  const std::string_view whole = "*4\r\n$3\r\nabc\r\n:-7\r\n*1\r\n-ERR x\r\n$-1\r\n";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ReplyReader reader;
    feed(reader, whole.substr(0, size));
    EXPECT_EQ(read(reader), "") << size;
    feed(reader, whole.substr(size));
    EXPECT_EQ(read(reader), "['abc' -7 [-ERR x ] nil ]\n") << size;
  }
}

TEST(RedisReplyTest, ManyRepliesMayComeAtOnce) {
  std::string bytes;
  std::string expected;
  for (int i = 0; i < 20'000; ++i) {
    bytes += "*2\r\n:" + std::to_string(i) + "\r\n$1\r\nx\r\n";
    expected += "[" + std::to_string(i) + " 'x' ]\n";
  }
  EXPECT_EQ(read(bytes), expected);
}

TEST(RedisReplyTest, NothingOfAnOlderReplyIsLeft) {
  ReplyReader reader;
  Reply reply;
  for (const auto& [bytes, expected] :
       {std::pair{"*3\r\n$3\r\nabc\r\n:5\r\n*1\r\n:1\r\n", "['abc' 5 [1 ] ]"},
        std::pair{"*3\r\n$-1\r\n$1\r\nx\r\n:2\r\n", "[nil 'x' 2 ]"}, std::pair{":4\r\n", "4"},
        std::pair{"*2\r\n*-1\r\n*0\r\n", "[nil [] ]"}, std::pair{"$1\r\ny\r\n", "'y'"},
        std::pair{"$-1\r\n", "nil"}, std::pair{"*1\r\n+z\r\n", "[+z ]"}}) {
    feed(reader, bytes);
    ASSERT_EQ(reader.next(reply), Next::reply);
    EXPECT_EQ(shown(reply), expected);
    if (reply.kind != Kind::array) {
      EXPECT_TRUE(reply.items.empty());
    }
    if (reply.kind == Kind::nil || reply.kind == Kind::array || reply.kind == Kind::integer) {
      EXPECT_TRUE(reply.text.empty());
    }
    if (reply.kind != Kind::integer) {
      EXPECT_EQ(reply.integer, 0);
    }
  }
}

TEST(RedisReplyTest, AStringUsesTheMemoryOfOlderOnes) {
  ReplyReader reader;
  Reply reply;
  // The two texts that take turns.
  for (int i = 0; i < 2; ++i) {
    reply.text.reserve(10'000);
    feed(reader, "+x\r\n");
    ASSERT_EQ(reader.next(reply), Next::reply);
  }
  reply.text.reserve(10'000);
  for (int i = 0; i < 100; ++i) {
    feed(reader, "$64\r\n" + std::string(64, 'a') + "\r\n");
    ASSERT_EQ(reader.next(reply), Next::reply);
    ASSERT_EQ(reply.text, std::string(64, 'a'));
    ASSERT_GE(reply.text.capacity(), 10'000U);
  }
}

// Writes a random reply as a server would, and what it should be read as.
struct Writer {
  std::mt19937_64& random;
  std::string bytes{};
  std::string expected{};

  std::string some_text() {
    std::string text(random() % 4 == 0 ? 0 : random() % 40, '\0');
    for (char& c : text) c = static_cast<char>(random());
    return text;
  }
  void write(int depth) {
    const std::uint64_t kind = random() % (depth < 6 ? 6 : 5);
    if (kind == 0) {
      bytes += "$-1\r\n";
      expected += "nil";
    } else if (kind == 1 || kind == 2) {
      const std::string line = "word " + std::to_string(random() % 100);
      bytes += (kind == 1 ? "+" : "-") + line + "\r\n";
      expected += (kind == 1 ? "+" : "-") + line;
    } else if (kind == 3) {
      const std::string number = std::to_string(static_cast<long long>(random()));
      bytes += ":" + number + "\r\n";
      expected += number;
    } else if (kind == 4) {
      const std::string text = some_text();
      bytes += "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
      expected += "'" + text + "'";
    } else {
      const std::uint64_t count = random() % 4;
      bytes += "*" + std::to_string(count) + "\r\n";
      expected += "[";
      for (std::uint64_t i = 0; i < count; ++i) {
        write(depth + 1);
        expected += " ";
      }
      expected += "]";
    }
  }
};

TEST(RedisReplyTest, RandomRepliesInRandomPieces) {
  std::mt19937_64 random(model::test_seed());
  for (int round = 0; round < 300; ++round) {
    Writer writer{random};
    for (int i = 0; i < 20; ++i) {
      writer.write(0);
      writer.expected += "\n";
    }
    const std::size_t largest = round % 3 == 0 ? 1 : 1 + random() % 200;
    ReplyReader reader;
    std::string result;
    for (std::size_t at = 0; at < writer.bytes.size();) {
      const std::size_t size =
          std::min<std::size_t>(1 + random() % largest, writer.bytes.size() - at);
      feed(reader, std::string_view(writer.bytes).substr(at, size));
      at += size;
      result += read(reader);
    }
    ASSERT_EQ(result, writer.expected);
  }
}

TEST(RedisReplyTest, DamagedRepliesAreSurvived) {
  std::mt19937_64 random(model::test_seed());
  int broken = 0;
  for (int round = 0; round < 20'000; ++round) {
    Writer writer{random};
    for (int i = 0; i < 3; ++i) writer.write(0);
    for (std::uint64_t i = 0; i <= random() % 3; ++i) {
      const std::string_view alphabet = "*$:+-0123456789\r\n";
      char& c = writer.bytes[random() % writer.bytes.size()];
      c = random() % 2 == 0 ? alphabet[random() % alphabet.size()] : static_cast<char>(random());
    }
    ReplyReader reader({.bytes = 100, .items = 10});
    for (const char c : writer.bytes) {
      reader.feed({&c, 1});
      const std::string text = read(reader);
      if (text.ends_with("broken")) {
        ++broken;
        break;
      }
    }
  }
  EXPECT_GT(broken, 1'000);
}

}  // namespace
}  // namespace mortise::redis
