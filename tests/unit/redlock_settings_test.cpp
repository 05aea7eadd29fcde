// SPDX-License-Identifier: MIT
// Goal: a Redlock URL is read as it was meant, or refused in words that name its wrong part and
// never its password. Method: known answers.
#include <mortise/error.hpp>

#include "redlock/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace mortise::redlock {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal(std::string_view url) {
  try {
    static_cast<void>(Settings::parse(url));
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::misconfigured) << url;
    EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << url;
  return {};
}

TEST(RedlockSettingsTest, EachServerHasItsAddressAndAllElseInCommon) {
  const Settings settings =
      Settings::parse("redlock://app:secret@a,b:7,[::1]:8/3?prefix=shop:&client-name=till");
  ASSERT_EQ(settings.nodes.size(), 3U);
  EXPECT_EQ(settings.text(), "redlock a:6379,b:7,[::1]:8");
  for (const redis::Settings& node : settings.nodes) {
    EXPECT_EQ(node.login.database, 3);
    EXPECT_EQ(node.prefix, "shop:");
    EXPECT_EQ(node.login.client_name, "till");
    EXPECT_EQ(node.login.credentials.user, "app");
    EXPECT_EQ(node.login.credentials.current(), "secret");
    EXPECT_FALSE(node.tls.has_value());
  }
}

TEST(RedlockSettingsTest, SocketsAndTls) {
  const Settings sockets = Settings::parse("redlock+unix:///run/a.sock,/run/b.sock,/c?db=2");
  EXPECT_EQ(sockets.text(), "redlock /run/a.sock,/run/b.sock,/c");
  EXPECT_EQ(sockets.nodes[1].address.path, "/run/b.sock");
  EXPECT_EQ(sockets.nodes[2].login.database, 2);
  const Settings encrypted = Settings::parse("redlocks://a,b,c?verify=no");
  for (const redis::Settings& node : encrypted.nodes) {
    ASSERT_TRUE(node.tls.has_value());
    EXPECT_FALSE(node.tls->verify);
  }
}

TEST(RedlockSettingsTest, EvenNumbersOfServersAreFine) {
  EXPECT_EQ(Settings::parse("redlock://a,b,c,d").nodes.size(), 4U);
  EXPECT_EQ(Settings::parse("redlock://a,b,c,d,e,f,g,h,i,j,k,l,m,n,o").nodes.size(), 15U);
}

TEST(RedlockSettingsTest, WhatMakesNoQuorumIsRefused) {
  for (const char* const url : {"redlock://", "redlock://a", "redlock://a,b",
                                "redlock://a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p"}) {
    EXPECT_THAT(refusal(url), HasSubstr("3 to 15")) << url;
  }
  EXPECT_THAT(refusal("redlock:a,b,c"), HasSubstr("'//' is missing; write redlock://a,b,c"));
  EXPECT_THAT(refusal("redlock://a,b,a:6379"), HasSubstr("a server is named twice"));
  EXPECT_THAT(refusal("redlock+unix:///a,/b,/a"), HasSubstr("a server is named twice"));
}

TEST(RedlockSettingsTest, WhatIsMeantForOneServerIsRefused) {
  EXPECT_THAT(refusal("redlock://a,b,c?fair=no"), HasSubstr("unknown parameter"));
  EXPECT_THAT(refusal("redlock://a,b,c?interop=redisson"), HasSubstr("unknown parameter"));
  EXPECT_THAT(refusal("redlock://a,b,c?ca=/x"), HasSubstr("redlocks"));
  EXPECT_THAT(refusal("redlock+unix://a,b,c"), HasSubstr("sockets"));
  EXPECT_THAT(refusal("redlock+unix:///a,b,/c"), HasSubstr("begin with '/'"));
  EXPECT_THAT(refusal("redlock+unix:///a,/b,/" + std::string(107, 'c')),
              HasSubstr("at most 107 bytes"));
}

TEST(RedlockSettingsTest, NoMessageRepeatsWhatMayBeAPassword) {
  EXPECT_THAT(refusal("redlock://app:secr/secret@a,b,c"), HasSubstr("%2F"));
  static_cast<void>(refusal("redlock://app:secret@a,b:x,c"));
  static_cast<void>(refusal("redlock://app:secret@a,b"));
  static_cast<void>(refusal("redlock://app:secret@a,b,c?db=1&db=2"));
}

}  // namespace
}  // namespace mortise::redlock
