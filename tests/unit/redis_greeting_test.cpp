// SPDX-License-Identifier: MIT
// Goal: a connection says who we are before all else, and a server that will not do is refused in
// words that name why. Method: the bytes are read back into words; answers are handed in one by
// one.
#include "redis/connection/greeting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mortise::redis {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string server_words = "redis h:6379";
const std::string server =
    "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:0123abc\r\n";
const std::string master = "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n";
const std::string nobodys = "mortise:{mortise.check}?";  // a key that no name has
const std::string memory = "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n";

Reply status(std::string text) { return {.kind = Reply::Kind::status, .text = std::move(text)}; }
Reply error(std::string text) { return {.kind = Reply::Kind::error, .text = std::move(text)}; }
Reply bulk(std::string text) { return {.kind = Reply::Kind::string, .text = std::move(text)}; }

// The commands, a line each.
std::vector<std::string> said(const Greeting& greeting) {
  ReplyReader reader;
  reader.feed({greeting.bytes().data(), greeting.bytes().size()});
  std::vector<std::string> lines;
  for (Reply reply; reader.next(reply) == ReplyReader::Next::reply;) {
    std::string line;
    for (const Reply& word : reply.items) line += (line.empty() ? "" : " ") + word.text;
    lines.push_back(line);
  }
  return lines;
}

// The first failure of several answers.
Failure read(Greeting& greeting, const std::vector<Reply>& replies) {
  for (const Reply& reply : replies) {
    EXPECT_FALSE(greeting.done());
    if (Failure why = greeting.read(server_words, reply)) return why;
  }
  return {};
}

Failure greeted(const std::string& url, const std::vector<Reply>& replies,
                const std::string& inbox = "") {
  Greeting greeting(Settings::parse(url), inbox);
  Failure why = read(greeting, replies);
  EXPECT_TRUE(why || greeting.done());
  EXPECT_TRUE(!why || why.text.starts_with(server_words + ": ")) << why.text;
  return why;
}

TEST(RedisGreetingTest, AllIsSaidAtOnce) {
  Greeting plain(Settings::parse("redis://h?client-name="), "");
  EXPECT_THAT(said(plain), ElementsAre("INFO server", "INFO replication", "INFO memory"));
  EXPECT_FALSE(plain.done());
  EXPECT_FALSE(read(plain, {bulk(server), bulk(master), bulk(memory)}));
  EXPECT_TRUE(plain.done());
  EXPECT_EQ(plain.facts().run_id, "0123abc");
  EXPECT_EQ(plain.facts().version, "7.0.15");
  Greeting all(Settings::parse("redis://app:se%20cret@h/3?client-name=shop"), "");
  EXPECT_THAT(
      said(all),
      ElementsAre(
          "AUTH app se cret", "CLIENT SETNAME shop", "INFO server", "INFO replication",
          "INFO memory", "SELECT 3", "EVALSHA " + std::string(40, '0') + " 1 " + nobodys, "TIME",
          "HGET " + nobodys + " -", "HMGET " + nobodys + " -", "HSET " + nobodys + " - - -",
          "HDEL " + nobodys + " -", "PEXPIRE " + nobodys + " -", "PUBLISH mortise:inbox:check ",
          "PTTL " + nobodys, "ZADD " + nobodys + " - -", "ZREM " + nobodys + " -",
          "ZRANGE " + nobodys + " - -", "ZSCORE " + nobodys + " -", "HINCRBY " + nobodys + " - -",
          "ZRANK " + nobodys + " -", "ZCARD " + nobodys, "ZCOUNT " + nobodys + " - -"));
  EXPECT_FALSE(read(
      all, {status("OK"), status("OK"), bulk(server), bulk(master), bulk(memory), status("OK")}));
  for (int i = 0; i < 17; ++i) EXPECT_FALSE(read(all, {error("ERR whatever")}));
  EXPECT_TRUE(all.done());
  Greeting without_user(Settings::parse("redis://:pw@h"), "");
  EXPECT_EQ(said(without_user).front(), "AUTH pw");
}

// Who logs in is told of a right that is missing before it is needed.
TEST(RedisGreetingTest, WhatAUserMayNotDoIsSaidWithItsRemedy) {
  const struct {
    const char* url;
    int trial;
    const char* words;
    const char* remedy;
  } cases[] = {
      {"redis://shop:pw@h", 0, "NOPERM this user has no permissions to run the 'evalsha' command",
       "; user 'shop' needs +evalsha"},
      {"redis://:pw@h", 6, "NOPERM User default has no permissions to run the 'pexpire' command",
       "; user 'default' needs +pexpire"},
      {"redis://shop:pw@h", 7, "NOPERM No permissions to access a channel",
       "; user 'shop' needs &mortise:inbox:*"},
      {"redis://shop:pw@h?prefix=x:", 7, "NOPERM the channels used", "needs &x:inbox:*"},
      {"redis://shop:pw@h", 8, "NOPERM in words that nobody knows yet", "needs +pttl"},
      {"redis://shop:pw@h?replicas=1", 17, "NOPERM ... run the 'wait' command", "needs +wait"},
      {"redis://shop:pw@h?interop=redisson", 19, "NOPERM ... run the 'hkeys' command",
       "needs +hkeys"},
      {"redis://shop:pw@h?interop=redisson", 21, "NOPERM a channel",
       "needs &redisson_lock__channel:*"},
      {"redis+cluster://shop:pw@h", 7, "NOPERM ... run the 'spublish' command", "needs +spublish"},
      {"redis+cluster://shop:pw@h", 17, "NOPERM ... run the 'asking' command", "needs +asking"},
      {"redis+cluster://shop:pw@h", 18, "NOPERM ... run the 'cluster' command or its subcommand",
       "needs +cluster|slots"},
  };
  for (const auto& each : cases) {
    Greeting greeting(Settings::parse(each.url), "");
    const bool cluster = std::string(each.url).starts_with("redis+cluster");
    std::vector<Reply> before{status("OK"), status("OK")};
    before.push_back(
        bulk(cluster ? "redis_version:7.0.0\nrun_id:1\nserver_mode:cluster\n" : server));
    if (!cluster) before.push_back(bulk(master));
    before.push_back(bulk(memory));
    if (cluster) before.push_back({.kind = Reply::Kind::array});
    for (int i = 0; i < each.trial; ++i) before.push_back(error("ERR of another kind"));
    ASSERT_FALSE(read(greeting, before)) << each.remedy;
    const Failure why = greeting.read(server_words, error(each.words));
    EXPECT_EQ(why.code, make_error_code(Errc::denied)) << each.remedy;
    EXPECT_THAT(why.text, HasSubstr(each.words));
    EXPECT_THAT(why.text, EndsWith(each.remedy));
    EXPECT_THAT(why.text, Not(HasSubstr("pw")));
  }
}

// There are users who may use some names only, and these trials are about none of them.
TEST(RedisGreetingTest, AKeyThatAUserMayNotUseIsNotAskedForYet) {
  Greeting greeting(Settings::parse("redis://shop:pw@h?client-name="), "");
  ASSERT_FALSE(read(greeting, {status("OK"), bulk(server), bulk(master), bulk(memory)}));
  while (!greeting.done()) {
    ASSERT_FALSE(read(greeting, {error("NOPERM No permissions to access a key")}));
  }
}

TEST(RedisGreetingTest, AnInboxEndsWithItsSubscription) {
  Greeting inbox(Settings::parse("redis://h"), "m:inbox:1");
  EXPECT_THAT(said(inbox),
              ElementsAre("CLIENT SETNAME mortise", "INFO server", "SUBSCRIBE m:inbox:1"));
  Reply done{.kind = Reply::Kind::array};
  done.items = {bulk("subscribe"), bulk("m:inbox:1"), {.kind = Reply::Kind::integer, .integer = 1}};
  EXPECT_FALSE(read(inbox, {status("OK"), bulk(server), done}));
  EXPECT_TRUE(inbox.done());
  EXPECT_EQ(inbox.facts().run_id, "0123abc");
  Reply shorter = done;
  shorter.items.pop_back();
  Reply other = done;
  other.items[0].text = "message";
  for (const Reply& wrong : {status("OK"), bulk("subscribe"), Reply{}, shorter, other}) {
    const Failure why = greeted("redis://h", {status("OK"), bulk(server), wrong}, "m:inbox:1");
    EXPECT_EQ(why.code, make_error_code(Errc::protocol));
  }
  EXPECT_EQ(
      greeted("redis://h", {status("OK"), bulk(server), error("NOPERM no channel")}, "c").code,
      make_error_code(Errc::denied));
}

TEST(RedisGreetingTest, AnInboxTriesBeforeItListens) {
  Greeting plain(Settings::parse("redis://shop:pw@h?client-name="), "i");
  EXPECT_THAT(said(plain), ElementsAre("AUTH shop pw", "INFO server", "SUBSCRIBE i"));
  Greeting redisson(Settings::parse("redis://shop:pw@h?client-name=&interop=redisson"), "i");
  EXPECT_THAT(said(redisson),
              ElementsAre("AUTH shop pw", "INFO server", "UNSUBSCRIBE i", "SUBSCRIBE i"));
  Greeting cluster(Settings::parse("redis+cluster://shop:pw@h?client-name="), "i");
  EXPECT_THAT(said(cluster), ElementsAre("AUTH shop pw", "INFO server", "SSUBSCRIBE i",
                                         "SUNSUBSCRIBE i", "SUBSCRIBE i"));
}

TEST(RedisGreetingTest, ServersThatWillNotDo) {
  const auto told = [](std::string version, std::string more) {
    return "# Server\r\nredis_version:" + version + "\r\nrun_id:1\r\n" + more;
  };
  const struct {
    std::vector<Reply> replies;
    Errc code;
    const char* words;
  } cases[] = {
      {{bulk(told("6.0.16", ""))}, Errc::unsupported, "Redis 6.0.16 is too old"},
      {{bulk(told("5.9", ""))}, Errc::unsupported, "too old"},
      {{bulk(told("", ""))}, Errc::unsupported, "too old"},
      {{bulk(told("7", ""))}, Errc::unsupported, "too old"},
      {{bulk(told("x.y", ""))}, Errc::unsupported, "too old"},
      {{bulk(told("7.0.0", "redis_mode:cluster\r\n"))}, Errc::misconfigured, "node of a cluster"},
      {{bulk(told("7.2.4", "server_mode:cluster\r\n"))}, Errc::misconfigured, "node of a cluster"},
      {{bulk(told("6.0.16", "redis_mode:sentinel\r\n"))}, Errc::misconfigured, "a sentinel"},
      {{bulk(told("8.0.1", "server_mode:sentinel\r\n"))}, Errc::misconfigured, "a sentinel"},
      {{bulk("redis_version:7.0.0\r\n")}, Errc::protocol, "run_id"},
      {{bulk("redis_version:7.0.0\r\nmy_run_id:1\r\nrun_idx:1\r\n")}, Errc::protocol, "run_id"},
      {{bulk("")}, Errc::protocol, "run_id"},
      {{status("HTTP/1.1 200 OK")}, Errc::protocol, "run_id"},
      {{Reply{}}, Errc::protocol, "run_id"},
      {{bulk(server), bulk("role:slave\r\n")}, Errc::unavailable, "its role is 'slave'"},
      {{bulk(server), bulk("")}, Errc::unavailable, "not a master"},
      {{bulk(server), bulk(master), bulk("maxmemory_policy:allkeys-lru\r\n")},
       Errc::misconfigured,
       "'allkeys-lru'"},
      {{bulk(server), bulk(master), bulk("")},
       Errc::misconfigured,
       "INFO does not report maxmemory_policy"},
      {{error("NOAUTH Authentication required.")}, Errc::denied, "NOAUTH"},
      {{error("LOADING Redis is loading")}, Errc::unavailable, "LOADING"},
      {{error("ERR unknown command 'INFO'")}, Errc::protocol, "unknown command"},
      {{bulk(server), error("NOPERM this user")}, Errc::denied, "NOPERM"},
  };
  for (const auto& each : cases) {
    const Failure why = greeted("redis://h?client-name=", each.replies);
    EXPECT_EQ(why.code, make_error_code(each.code)) << each.words;
    EXPECT_THAT(why.text, HasSubstr(each.words));
  }
  for (const char* version : {"6.2.0", "6.10", "7.0.0-rc1", "10.0.1"}) {
    EXPECT_FALSE(
        greeted("redis://h?client-name=", {bulk(told(version, "")), bulk(master), bulk(memory)}))
        << version;
  }
  EXPECT_FALSE(greeted("redis://h?client-name=&eviction=accepted",
                       {bulk(server), bulk(master), bulk("maxmemory_policy:allkeys-lru\r\n")}));
}

// So a connection is not mistaken for one to the cluster that is meant.
TEST(RedisGreetingTest, ANodeOfAClusterSaysWhoIsInIt) {
  const std::string node = "redis_version:7.0.0\nrun_id:1\nredis_mode:cluster\n";
  Greeting greeting(Settings::parse("redis+cluster://h?client-name="), "");
  EXPECT_THAT(said(greeting), ElementsAre("INFO server", "INFO memory", "CLUSTER SLOTS"));
  const Reply number{.kind = Reply::Kind::integer, .integer = 7};
  const Reply port{.kind = Reply::Kind::integer, .integer = 7001};
  Reply its{.kind = Reply::Kind::array};
  its.items = {bulk("10.0.0.1"), port, bulk("0123456789abcdef")};
  Reply range{.kind = Reply::Kind::array};
  range.items = {number, number, its};
  Reply slots{.kind = Reply::Kind::array};
  slots.items = {range};
  ASSERT_FALSE(read(greeting, {bulk(node), bulk(memory), slots}));
  EXPECT_TRUE(greeting.done());
  EXPECT_EQ(greeting.facts().cluster.nodes, NodeIds{"0123456789abcdef"});
  Greeting denied(Settings::parse("redis+cluster://h?client-name="), "");
  const Failure why =
      read(denied, {bulk(node), bulk(memory), error("NOPERM run the 'cluster' command")});
  EXPECT_EQ(why.code, make_error_code(Errc::denied));
  EXPECT_THAT(why.text, EndsWith("needs +cluster|slots"));
  EXPECT_THAT(greeted("redis+cluster://h?client-name=", {bulk(server)}).text,
              HasSubstr("not a node of a cluster"));
}

TEST(RedisGreetingTest, WhoWeAreIsRefused) {
  const auto code = [](const char* url, const Reply& first) {
    return greeted(url, {first, bulk(server), bulk(master), bulk(memory)}).code;
  };
  const char* const with_password = "redis://app:pw@h?client-name=";
  for (const char* words : {"WRONGPASS invalid", "ERR wrong number of arguments for 'auth'",
                            "ERR AUTH called without any password", "whatever"}) {
    EXPECT_EQ(code(with_password, error(words)), make_error_code(Errc::denied)) << words;
  }
  const Reply repeats = error("ERR unknown command 'AUTH', with args beginning with: 'pw'");
  EXPECT_THAT(greeted(with_password, {repeats}).text, Not(HasSubstr("pw")));
  EXPECT_EQ(code(with_password, error("LOADING wait")), make_error_code(Errc::unavailable));
  EXPECT_EQ(code(with_password, bulk("OK")), make_error_code(Errc::protocol));
  const auto code_of_9 = [](const Reply& selected) {
    return greeted("redis://h/9?client-name=", {bulk(server), bulk(master), bulk(memory), selected})
        .code;
  };
  EXPECT_EQ(code_of_9(error("ERR DB index is out of range")), make_error_code(Errc::misconfigured));
  EXPECT_EQ(code_of_9(Reply{}), make_error_code(Errc::protocol));
  EXPECT_FALSE(code("redis://h", error("NOPERM no permissions to run 'client|setname'")));
  EXPECT_FALSE(code("redis://h", error("ERR unknown command 'CLIENT'")));
  EXPECT_EQ(code("redis://h", error("NOAUTH Authentication required.")),
            make_error_code(Errc::denied));
  EXPECT_EQ(code("redis://h", bulk("OK")), make_error_code(Errc::protocol));
}

TEST(RedisGreetingTest, WhatAServerSaysOfItselfIsBounded) {
  const std::string much(100'000, '7');
  Greeting greeting(Settings::parse("redis://h?client-name="), "");
  EXPECT_FALSE(greeting.read(server_words, bulk("redis_version:7.0." + much + "\nrun_id:" + much)));
  EXPECT_EQ(greeting.facts().version.size(), 40U);
  EXPECT_EQ(greeting.facts().run_id.size(), 64U);
  EXPECT_LT(greeting.read(server_words, bulk("role:" + much)).text.size(), 150U);
  EXPECT_LT(greeting.read(server_words, bulk("maxmemory_policy:" + much)).text.size(), 200U);
}

TEST(RedisGreetingTest, APasswordFileThatIsNotThereIsRefusedFirst) {
  const Settings settings = Settings::parse("redis://h?password-file=/no/such/file");
  EXPECT_THROW(Greeting(settings, ""), Error);
}

}  // namespace
}  // namespace mortise::redis
