// SPDX-License-Identifier: MIT
// Goal: a Redis URL is read as it was meant, or refused in words that name its wrong part and never
// its password. Method: known answers.
#include <mortise/error.hpp>

#include "redis/store/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace mortise::redis {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal(std::string_view url, Errc code = Errc::misconfigured) {
  try {
    static_cast<void>(Settings::parse(url));
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), code) << url;
    EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << url;
  return {};
}

TEST(RedisSettingsTest, WhatIsNotSaidHasItsDefault) {
  const Settings settings = Settings::parse("redis://host");
  EXPECT_EQ(settings.address.text(), "host:6379");
  EXPECT_EQ(settings.login.database, 0);
  EXPECT_EQ(settings.login.client_name, "mortise");
  EXPECT_EQ(settings.prefix, "mortise:");
  EXPECT_EQ(settings.queue_mode, QueueMode::fair);
  EXPECT_FALSE(settings.eviction_accepted);
  EXPECT_FALSE(settings.tls);
  EXPECT_EQ(settings.login.credentials.user, "");
  EXPECT_EQ(settings.login.credentials.current(), std::nullopt);
}

TEST(RedisSettingsTest, AllThatCanBeSaid) {
  const Settings settings = Settings::parse(
      "REDISS://app:se%40cret@[::1]:7000/3?client-name=shop&prefix=shop/&fair=no&"
      "eviction=accepted&ca=/ca.pem&cert=/me.pem&key=/me.key&server-name=db&verify=no");
  EXPECT_EQ(settings.address.text(), "[::1]:7000");
  EXPECT_EQ(settings.login.database, 3);
  EXPECT_EQ(settings.login.credentials.user, "app");
  EXPECT_EQ(settings.login.credentials.current(), "se@cret");
  EXPECT_EQ(settings.login.client_name, "shop");
  EXPECT_EQ(settings.prefix, "shop/");
  EXPECT_EQ(settings.queue_mode, QueueMode::unfair);
  EXPECT_TRUE(settings.eviction_accepted);
  ASSERT_TRUE(settings.tls);
  EXPECT_EQ(settings.tls->ca_file, "/ca.pem");
  EXPECT_EQ(settings.tls->certificate, "/me.pem");
  EXPECT_EQ(settings.tls->key, "/me.key");
  EXPECT_EQ(settings.tls->server_name, "db");
  EXPECT_FALSE(settings.tls->verify);
  EXPECT_TRUE(Settings::parse("rediss://h").tls->verify);
  EXPECT_EQ(Settings::parse("redis://h?fair=yes&interop=redisson").queue_mode, QueueMode::redisson);
  EXPECT_EQ(Settings::parse("redis://h?client-name=&prefix=").prefix, "");
  EXPECT_EQ(Settings::parse("redis://h/").login.database, 0);
  EXPECT_EQ(Settings::parse("redis://h?db=1048575").login.database, 1'048'575);
  EXPECT_EQ(Settings::parse("redis://:secret@h").login.credentials.current(), "secret");
}

TEST(RedisSettingsTest, AUnixSocketHasAPath) {
  const Settings settings = Settings::parse("redis+unix://:secret@/run/redis%20a.sock?db=2");
  EXPECT_EQ(settings.address.text(), "/run/redis a.sock");
  EXPECT_EQ(settings.address.host, "");
  EXPECT_EQ(settings.login.database, 2);
  EXPECT_EQ(settings.login.credentials.current(), "secret");
  for (const char* url :
       {"redis+unix://host/run/redis.sock", "redis+unix:///", "redis+unix://", "redis+unix:"}) {
    EXPECT_THAT(refusal(url), HasSubstr("path of a socket")) << url;
  }
  EXPECT_THAT(refusal("redis+unix:///" + std::string(107, 'x')), HasSubstr("at most 107 bytes"));
}

TEST(RedisSettingsTest, RefusalsNameThePart) {
  const struct {
    const char* rest;
    const char* part;
  } cases[] = {
      {"", "one host"},
      {"h/1?db=2", "in the path and as db"},
      {"h?verify=yes", "rediss"},
      {"a,b", "one host"},
      {"h:0", "the port is not a number from 1 to 65535"},
      {"h/x", "database in the path must be a number from 0 to 1048575"},
      {"h/1x", "database in the path"},
      {"h/1/2", "database in the path"},
      {"h/-1", "database in the path"},
      {"h/1048576", "database in the path"},
      {"h/99999999999999999999", "database in the path"},
      {"h?db=", "database in the query"},
      {"h?db=+1", "database in the query"},
      {"h?client-name=a%20b", "client-name"},
      {"h?client-name=%C3%A4", "client-name"},
      {"h?prefix=a%20b", "prefix"},
      {"h?prefix={", "prefix"},
      {"h?prefix=}", "prefix"},
      {"h?fair=maybe", "fair"},
      {"h?interop=curator", "interop must be 'redisson'"},
      {"h?fair=no&interop=redisson", "fair=no and interop"},
      {"h?eviction=refused", "eviction"},
      {"h?password-env=MORTISE_NO_SUCH_VARIABLE", "password-env names an environment variable"},
      {"h?password-file=/a&password-env=PATH", "more than once"},
      {"h?password-file=", "password-file is empty"},
      {"user@h", "the user has no password"},
      {"h?ca=/ca.pem", "rediss"},
      {"h?server-name=x", "rediss"},
      {"h?verify=no", "rediss"},
      {"h?cert=/c&key=/k", "rediss"},
      {"h?cert=/c", "cert and key"},
      {"h?key=/k", "cert and key"},
      {"h?colour=red", "the parameters of this store are ca, cert, client-name, db,"},
      {"h?session=10s", "unknown parameter"},
  };
  for (const auto& each : cases) {
    EXPECT_THAT(refusal(std::string("redis://") + each.rest), HasSubstr(each.part)) << each.rest;
  }
  EXPECT_THAT(refusal("redis:127.0.0.1"), HasSubstr("'//' is missing"));
  EXPECT_THAT(refusal("rediss://h?cert=/c"), HasSubstr("cert and key"));
  EXPECT_THAT(refusal("rediss://h?verify=maybe"), HasSubstr("verify"));
  EXPECT_THAT(refusal("memcached://h"), HasSubstr("not a Redis scheme"));
  const std::string longest(128, 'p');
  EXPECT_EQ(Settings::parse("redis://h?prefix=" + longest).prefix, longest);
  EXPECT_THAT(refusal("redis://h?prefix=p" + longest), HasSubstr("128"));
}

TEST(RedisSettingsTest, OfAClusterSeveralServersAreNamed) {
  const Settings plain =
      Settings::parse("redis+cluster://app:secret@a,b:7000,[::1]:7001?prefix=p:");
  ASSERT_EQ(plain.seeds.size(), 3U);
  EXPECT_EQ(plain.seeds[0].text(), "a:6379");
  EXPECT_EQ(plain.seeds[1].text(), "b:7000");
  EXPECT_EQ(plain.seeds[2].text(), "[::1]:7001");
  EXPECT_EQ(plain.login.credentials.user, "app");
  EXPECT_EQ(plain.prefix, "p:");
  EXPECT_FALSE(plain.tls);
  EXPECT_TRUE(plain.is_cluster());
  EXPECT_TRUE(Settings::parse("rediss+cluster://a?ca=/ca.pem").tls);
  EXPECT_FALSE(Settings::parse("redis://a").is_cluster());
  EXPECT_THAT(refusal("redis+cluster:///x"), HasSubstr("no servers of the cluster"));
  EXPECT_THAT(refusal("redis+cluster://a?ca=/ca.pem"), HasSubstr("rediss+cluster"));
  EXPECT_THAT(refusal("redis+cluster://a?db=1"), HasSubstr("only database 0"));
  EXPECT_THAT(refusal("redis+cluster://a/1"), HasSubstr("only database 0"));
  EXPECT_THAT(refusal("redis+cluster://a?interop=redisson", Errc::unsupported),
              HasSubstr("interop"));
}

TEST(RedisSettingsTest, HowManyReplicasHaveToHaveAGrant) {
  EXPECT_EQ(Settings::parse("redis://a").replicas, 0);
  EXPECT_EQ(Settings::parse("redis://a?replicas=0").replicas, 0);
  EXPECT_EQ(Settings::parse("redis+sentinel://a/m?replicas=8").replicas, 8);
  for (const char* const wrong : {"9", "-1", "", "10", "all", "1.5"}) {
    EXPECT_THAT(refusal(std::string("redis://a?replicas=") + wrong), HasSubstr("replicas"))
        << wrong;
  }
  EXPECT_THAT(refusal("redis+cluster://a?replicas=1", Errc::unsupported), HasSubstr("replicas"));
}

TEST(RedisSettingsTest, SentinelsAndTheNameOfTheirMaster) {
  const Settings settings = Settings::parse(
      "redis+sentinel://app:secret@s1,s2:7,[::1]/my.master/3?sentinel-user=watch&"
      "sentinel-password-file=/watch&prefix=shop/");
  ASSERT_TRUE(settings.sentinels);
  ASSERT_EQ(settings.sentinels->addresses.size(), 3U);
  EXPECT_EQ(settings.sentinels->addresses[0].text(), "s1:26379");
  EXPECT_EQ(settings.sentinels->addresses[1].text(), "s2:7");
  EXPECT_EQ(settings.sentinels->addresses[2].text(), "[::1]:26379");
  EXPECT_EQ(settings.sentinels->master, "my.master");
  EXPECT_EQ(settings.sentinels->credentials.user, "watch");
  EXPECT_EQ(settings.sentinels->credentials.password_file, "/watch");
  EXPECT_EQ(settings.login.credentials.user, "app");
  EXPECT_EQ(settings.login.database, 3);
  EXPECT_EQ(settings.prefix, "shop/");
  EXPECT_FALSE(settings.tls);
  EXPECT_EQ(settings.where(), "redis my.master of s1:26379,s2:7,[::1]:26379");
  const Settings plain = Settings::parse("redis+sentinel://s1/m?db=2");
  EXPECT_EQ(plain.login.database, 2);
  EXPECT_EQ(plain.sentinels->credentials.current(), std::nullopt);
  EXPECT_EQ(Settings::parse("rediss+sentinel://s1/m?ca=/ca.pem").tls->ca_file, "/ca.pem");
}

TEST(RedisSettingsTest, WhatSentinelsCannotBeToldOf) {
  const struct {
    const char* rest;
    const char* part;
  } cases[] = {
      {"", "no sentinels"},
      {"/m", "no sentinels"},
      {"s1", "the name of the master"},
      {"s1/", "the name of the master"},
      {"s1//2", "the name of the master"},
      {"s1/m%20m", "visible characters"},
      {"s1/m/x", "database in the path"},
      {"s1/m/", "database in the path"},
      {"s1/m/2/3", "database in the path"},
      {"s1/m/-1", "database in the path"},
      {"s1/m/2?db=3", "in the path and as db"},
      {"s1/m?db=x", "database in the query"},
      {"s1/m?db=1&db=1", "given twice"},
      {"s1,,s2/m", "empty host name"},
      {"s1:0/m", "the port is not a number"},
      {"s1/m?sentinel-user=a", "sentinel-user needs sentinel-password-file"},
      {"s1/m?sentinel-password-file=", "sentinel-password-file is empty"},
      {"s1/m?sentinel-password-env=MORTISE_NO_SUCH", "sentinel-password-env names"},
      {"s1/m?ca=/ca.pem", "rediss+sentinel"},
      {"s1/m?colour=red", "sentinel-password-env, sentinel-password-file, sentinel-user"},
  };
  for (const auto& each : cases) {
    EXPECT_THAT(refusal(std::string("redis+sentinel://") + each.rest), HasSubstr(each.part))
        << each.rest;
  }
  EXPECT_THAT(refusal("redis+sentinel:m"), HasSubstr("'//' is missing"));
  EXPECT_THAT(refusal("redis://a,b"), HasSubstr("one host"));
  EXPECT_THAT(refusal("redis://a?sentinel-user=a"), HasSubstr("unknown parameter"));
}

// `refusal` itself looks for the password.
TEST(RedisSettingsTest, NoRefusalRepeatsThePassword) {
  for (const char* rest :
       {"h:0", "a,b", "", "h/x", "h?db=x", "h?prefix={", "h?fair=no&interop=redisson", "h?ca=/ca",
        "h?colour=red", "h?password-file=/x", "h?password-env=PATH", "h?cert=/c"}) {
    EXPECT_NE(refusal(std::string("redis://app:secret@") + rest), "");
    EXPECT_NE(refusal(std::string("redis://:secret@") + rest), "");
  }
  for (const char* url : {"redis://app:secret/x@h", "redis://app:1/secret@h", "redis://:x?secret@h",
                          "redis://us@er:secret/x@h"}) {
    EXPECT_THAT(refusal(url), HasSubstr("%2F")) << url;
  }
  EXPECT_NE(refusal("redis+sentinel://app:secret@h"), "");
  EXPECT_NE(refusal("memcached://app:secret@h"), "");
}

TEST(RedisSettingsTest, ThePasswordOfTheEnvironment) {
  ASSERT_EQ(::setenv("MORTISE_TEST_PASSWORD", "secret", 1), 0);
  const Settings settings = Settings::parse("redis://app@h?password-env=MORTISE_TEST_PASSWORD");
  EXPECT_EQ(settings.login.credentials.user, "app");
  EXPECT_EQ(settings.login.credentials.current(), "secret");
  EXPECT_THAT(refusal("redis://:other@h?password-env=MORTISE_TEST_PASSWORD"),
              HasSubstr("more than once"));
  ::unsetenv("MORTISE_TEST_PASSWORD");
}

TEST(RedisSettingsTest, HowLongANameIsRemembered) {
  EXPECT_EQ(Settings::parse("redis://a").remembered, 3600);
  EXPECT_EQ(Settings::parse("redis://a?remember=60").remembered, 60);
  EXPECT_EQ(Settings::parse("redis://a?remember=31536000").remembered, 31'536'000);
  for (const char* const wrong : {"59", "31536001", "", "1h", "-60", "6e2", "99999999999"}) {
    EXPECT_THROW(Settings::parse(std::string("redis://a?remember=") + wrong), Error) << wrong;
  }
}

}  // namespace
}  // namespace mortise::redis
