// SPDX-License-Identifier: MIT
// Goal: an address is read as users write it, and what makes no sense is refused without a word of
// it, since it may be a password.
// Method: known answers.
#include "base/address.hpp"

#include <mortise/error.hpp>

#include <gtest/gtest.h>

namespace mortise::base {
namespace {

TEST(AddressTest, KnownAnswers) {
  const struct {
    const char* text;
    const char* host;
    std::uint16_t port;
    const char* shown;
  } cases[] = {
      {"localhost", "localhost", 6379, "localhost:6379"},
      {"localhost:1", "localhost", 1, "localhost:1"},
      {"10.0.0.1:65535", "10.0.0.1", 65535, "10.0.0.1:65535"},
      {"redis_1.shop.internal.:7000", "redis_1.shop.internal.", 7000,
       "redis_1.shop.internal.:7000"},
      {"::1", "::1", 6379, "[::1]:6379"},
      {"[::1]", "::1", 6379, "[::1]:6379"},
      {"[2001:db8::7]:6380", "2001:db8::7", 6380, "[2001:db8::7]:6380"},
      {"[fe80::1%eth0]:6380", "fe80::1%eth0", 6380, "[fe80::1%eth0]:6380"},
  };
  for (const auto& each : cases) {
    const Address address = Address::parse(each.text, "redis", 6379);
    EXPECT_EQ(address.host, each.host) << each.text;
    EXPECT_EQ(address.port, each.port) << each.text;
    EXPECT_EQ(address.text(), each.shown) << each.text;
    EXPECT_TRUE(address.path.empty());
  }
}

TEST(AddressTest, AUnixSocketIsShownByItsPath) {
  Address address;
  address.path = "/run/redis.sock";
  EXPECT_EQ(address.text(), "/run/redis.sock");
}

// The kernel's limit.
TEST(AddressTest, APathThatNoSocketCanHaveIsRefused) {
  const std::string longest = "/" + std::string(106, 'x');
  EXPECT_EQ(Address::of_socket(longest, "redis").text(), longest);
  for (const std::string& path : {longest + "x", std::string("/"), std::string("relative"),
                                  std::string(), std::string("/a\0b", 4)}) {
    try {
      static_cast<void>(Address::of_socket(path, "redis"));
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), Errc::misconfigured);
      const std::string words = error.what();
      EXPECT_NE(words.find("at most 107 bytes"), std::string::npos) << words;
    }
  }
}

std::string words_for(std::string_view text) {
  try {
    static_cast<void>(Address::parse(text, "redis", 6379));
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::misconfigured) << text;
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << text;
  return {};
}

TEST(AddressTest, NonsenseIsRefusedAndNotRepeated) {
  for (const char* text : {":6379",
                           "host:",
                           "host:0",
                           "host:65536",
                           "host:99999999999999999999",
                           "host:-1",
                           "host:+1",
                           "host: 1",
                           "host:1x",
                           "ho st",
                           "host/1",
                           "[::1",
                           "[::1]6379",
                           "[::1]:",
                           "[::1]:0",
                           "[]",
                           "[localhost]:1",
                           "a,b",
                           "a'b",
                           "shop:secret:6379",
                           "[shop:secret]:6379",
                           "::1:x"}) {
    const std::string words = words_for(text);
    EXPECT_EQ(words.find("URL: an address of redis: "), 0U) << text;
    EXPECT_EQ(words.find("'" + std::string(text) + "'"), std::string::npos) << words;
  }
  EXPECT_NE(words_for("").find("the host is missing"), std::string::npos);
  for (const std::string_view text : {std::string_view("a\0b", 3), std::string_view("a\nb")}) {
    const std::string words = words_for(text);
    EXPECT_NE(words.find("the host is neither a name nor an IP address"), std::string::npos);
    EXPECT_EQ(words.find(text), std::string::npos);
  }
}

TEST(AddressTest, WhatMayBeAPasswordIsNotRepeated) {
  EXPECT_EQ(words_for("secret@host:1").find("secret"), std::string::npos);
}

}  // namespace
}  // namespace mortise::base
