// SPDX-License-Identifier: MIT
// Goal: each error of a server becomes the kind and the code that its words mean, keeps the words,
// and harms no log. Method: the words of Redis 6.2 to 8 in a table, and hostile ones.
#include "redis/store/server_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace mortise::redis {
namespace {

using ::testing::HasSubstr;
using Meaning = ServerError::Kind;

const std::string where = "redis 10.0.0.1:6379";

TEST(RedisServerErrorTest, EachHasItsMeaning) {
  const struct {
    const char* words;
    Meaning kind;
    Errc code;
  } cases[] = {
      {"NOSCRIPT No matching script. Please use EVAL.", Meaning::script, Errc::unavailable},
      {"LOADING Redis is loading the dataset in memory", Meaning::passing, Errc::unavailable},
      {"BUSY Redis is busy running a script.", Meaning::passing, Errc::unavailable},
      {"MASTERDOWN Link with MASTER is down", Meaning::passing, Errc::unavailable},
      {"NOREPLICAS Not enough good replicas to write.", Meaning::passing, Errc::unavailable},
      {"MISCONF Redis is configured to save RDB snapshots", Meaning::passing, Errc::unavailable},
      {"TRYAGAIN Multiple keys request during rehashing", Meaning::passing, Errc::unavailable},
      {"CLUSTERDOWN Hash slot not served", Meaning::passing, Errc::unavailable},
      {"UNBLOCKED force unblock from blocking operation", Meaning::passing, Errc::unavailable},
      {"OOM command not allowed when used memory > 'maxmemory'.", Meaning::passing,
       Errc::exhausted},
      {"ERR max number of clients reached", Meaning::elsewhere, Errc::exhausted},
      {"ERR max number of clients + cluster connections reached", Meaning::elsewhere,
       Errc::exhausted},
      {"READONLY You can't write against a read only replica.", Meaning::elsewhere,
       Errc::unavailable},
      {"ERR WAIT cannot be used with replica instances. Please also note that ...",
       Meaning::elsewhere, Errc::unavailable},
      {"NOAUTH Authentication required.", Meaning::final, Errc::denied},
      {"WRONGPASS invalid username-password pair", Meaning::final, Errc::denied},
      {"NOPERM this user has no permissions to run the 'evalsha' command", Meaning::final,
       Errc::denied},
      {"ERR invalid password", Meaning::final, Errc::denied},
      {"ERR AUTH <password> called without any password configured", Meaning::final, Errc::denied},
      {"ERR Client sent AUTH, but no password is set", Meaning::final, Errc::denied},
      {"DENIED Redis is running in protected mode", Meaning::final, Errc::denied},
      {"ERR The user executing the script can't run this command", Meaning::final, Errc::denied},
      {"The user executing the script can't access at least one of the keys", Meaning::final,
       Errc::denied},
      {"ERR DB index is out of range", Meaning::final, Errc::misconfigured},
      {"ERR invalid DB index", Meaning::final, Errc::misconfigured},
      {"MOVED 3999 127.0.0.1:6381", Meaning::final, Errc::unsupported},
      {"ASK 3999 127.0.0.1:6381", Meaning::final, Errc::unsupported},
      {"WRONGTYPE Operation against a key holding the wrong kind of value", Meaning::final,
       Errc::protocol},
      {"ERR unknown command 'EVALSHA'", Meaning::final, Errc::protocol},
      {"BUSYKEY Target key name already exists.", Meaning::final, Errc::protocol},
      {"noscript", Meaning::final, Errc::protocol},
      {"", Meaning::final, Errc::protocol},
  };
  for (const auto& each : cases) {
    const ServerError error = server_error(where, each.words);
    EXPECT_EQ(error.kind, each.kind) << each.words;
    EXPECT_EQ(error.failure.code, make_error_code(each.code)) << each.words;
    EXPECT_EQ(error.failure.text, where + ": " + each.words);
  }
}

TEST(RedisServerErrorTest, WhatScriptsAddDoesNotHideIt) {
  const struct {
    const char* words;
    Meaning kind;
    Errc code;
    const char* kept;
  } cases[] = {
      {"OOM command not allowed. script: 0123abcd, on @user_script:7.", Meaning::passing,
       Errc::exhausted, "OOM command not allowed."},
      {"WRONGTYPE Operation against a key script: 0123abcd, on @user_script:7.", Meaning::final,
       Errc::protocol, "WRONGTYPE Operation against a key"},
      {"ERR Error running script (call to f_0123): @user_script:7: -READONLY You can't write.",
       Meaning::elsewhere, Errc::unavailable, "READONLY You can't write."},
      {"ERR Error running script (call to f_0123): @user_script:7: The user executing the script "
       "can't run this command",
       Meaning::final, Errc::denied, "The user executing the script can't run this command"},
      {"ERR ACL failure in script: No permissions to access a key script: 0123, on @user_script:1.",
       Meaning::final, Errc::denied, "ERR ACL failure in script: No permissions to access a key"},
      {"ERR ACL failure in script: No permissions to access a key script: on @user_script:1.",
       Meaning::final, Errc::denied, "ERR ACL failure in script: No permissions to access a key"},
      {"ERR Error running script", Meaning::final, Errc::protocol, "ERR Error running script"},
      {"ERR Error running script: -READONLY no. script: 0123, on @user_script:7.",
       Meaning::elsewhere, Errc::unavailable, "READONLY no."},
      {"ERR Error running script (f_0123): -", Meaning::final, Errc::protocol, ""},
      {"ERR Error running script (f_0123): ", Meaning::final, Errc::protocol, ""},
      {" script: ", Meaning::final, Errc::protocol, ""},
  };
  for (const auto& each : cases) {
    const ServerError error = server_error(where, each.words);
    EXPECT_EQ(error.kind, each.kind) << each.words;
    EXPECT_EQ(error.failure.code, make_error_code(each.code)) << each.words;
    EXPECT_EQ(error.failure.text, where + ": " + each.kept);
  }
}

TEST(RedisServerErrorTest, TheWordsAreOneShortLine) {
  std::string words = "LOADING ";
  for (int byte = 0; byte < 0x20; ++byte) words += static_cast<char>(byte);
  words += "\r\nforged line \x1b[31m " + std::string(100'000, 'x');
  const ServerError error = server_error(where, words);
  EXPECT_EQ(error.kind, Meaning::passing);
  EXPECT_THAT(error.failure.text, HasSubstr("forged line"));
  EXPECT_EQ(error.failure.text.size(), where.size() + 2 + 200);
  EXPECT_TRUE(std::all_of(error.failure.text.begin(), error.failure.text.end(),
                          [](char c) { return static_cast<unsigned char>(c) >= 0x20; }));
}

TEST(RedisServerErrorTest, EveryOneIsAFailure) {
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_TRUE(server_error(where, std::string(1, static_cast<char>(byte))).failure) << byte;
  }
}

}  // namespace
}  // namespace mortise::redis
