// SPDX-License-Identifier: MIT
// Goal: a ZooKeeper URL is read as it was meant, or refused in words that name its wrong part and
// never its password. Method: known answers; files for passwords that stand in one.
#include <mortise/error.hpp>

#include "model/temporary.hpp"
#include "zookeeper/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace mortise::zookeeper {
namespace {

using namespace std::chrono_literals;
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

TEST(ZooKeeperSettingsTest, WhatIsNotSaidHasItsDefault) {
  const Settings settings = Settings::parse("zookeeper://host");
  EXPECT_EQ(settings.text(), "host:2181");
  EXPECT_EQ(settings.root, "/mortise");
  EXPECT_EQ(settings.session, 10s);
  EXPECT_EQ(settings.margin, 1s);
  EXPECT_FALSE(settings.creator_only);
  EXPECT_EQ(settings.naming, Naming::mutex);
  EXPECT_EQ(settings.digest(), std::nullopt);
}

TEST(ZooKeeperSettingsTest, WhoseLocksAreToSeeOurs) {
  EXPECT_EQ(Settings::parse("zookeeper://a?interop=mutex").naming, Naming::mutex);
  EXPECT_EQ(Settings::parse("zookeeper://a?interop=readwrite").naming, Naming::read_write);
  EXPECT_EQ(Settings::parse("zookeeper://a?interop=kazoo").naming, Naming::kazoo);
}

TEST(ZooKeeperSettingsTest, AllThatCanBeSaid) {
  const Settings settings = Settings::parse(
      "zookeeper://app:se%40cret@a:1,[::1]:2,c/shop/locks/?session=1500ms&margin=250ms&acl=world");
  EXPECT_EQ(settings.text(), "a:1,[::1]:2,c:2181");
  EXPECT_EQ(settings.root, "/shop/locks");
  EXPECT_EQ(settings.session, 1500ms);
  EXPECT_EQ(settings.margin, 250ms);
  EXPECT_FALSE(settings.creator_only);
  EXPECT_EQ(settings.digest(), "app:se@cret");
  EXPECT_TRUE(Settings::parse("zookeeper://app:secret@a").creator_only)
      << "whoever has credentials protects its nodes";
}

TEST(ZooKeeperSettingsTest, RefusesWhatCanNotBeMeant) {
  EXPECT_THAT(refusal("zookeeper:a,b/locks"),
              HasSubstr("'//' is missing; write zookeeper://a,b,c/locks"));
  EXPECT_THAT(refusal("zookeeper:///locks"), HasSubstr("the host is missing"));
  EXPECT_THAT(refusal("zookeeper://a/"), HasSubstr("the path must not be /"));
  EXPECT_THAT(refusal("zookeeper://a/x//y"), HasSubstr("empty"));
  EXPECT_THAT(refusal("zookeeper://a/x/../y"), HasSubstr("'..'"));
  EXPECT_THAT(refusal("zookeeper://a/x%20y"), HasSubstr("visible ASCII"));
  EXPECT_THAT(refusal("zookeeper://a/zookeeper/x"), HasSubstr("/zookeeper"));
  EXPECT_THAT(refusal("zookeeper://a/" + std::string(200, 'x')), HasSubstr("200"));
  EXPECT_THAT(refusal("zookeeper://a:0"), HasSubstr("port"));
  EXPECT_THAT(refusal("zookeeper://a?session=10"), HasSubstr("session must be a time such as 10s"));
  EXPECT_THAT(refusal("zookeeper://a?session=-1s"), HasSubstr("session must be a time"));
  EXPECT_THAT(refusal("zookeeper://a?session=50ms"), HasSubstr("100ms to 24 h"));
  EXPECT_THAT(refusal("zookeeper://a?session=90000s"), HasSubstr("session"));
  EXPECT_THAT(refusal("zookeeper://a?margin=10ms"), HasSubstr("at least 20ms"));
  EXPECT_THAT(refusal("zookeeper://a?session=1s"), HasSubstr("margin")) << "default margin: 1 s";
  EXPECT_THAT(refusal("zookeeper://a?acl=open"), HasSubstr("world or creator"));
  EXPECT_THAT(refusal("zookeeper://a?acl=creator"), HasSubstr("needs a user"));
  EXPECT_THAT(refusal("zookeeper://a?interop=curator"), HasSubstr("mutex, readwrite or kazoo"));
  EXPECT_THAT(refusal("zookeeper://a?sesion=1s"),
              HasSubstr("unknown parameter; the parameters of this store are acl, ca,"));
}

TEST(ZooKeeperSettingsTest, TlsIsMeantByTheScheme) {
  EXPECT_FALSE(Settings::parse("zookeeper://a").tls);
  const Settings plain = Settings::parse("zookeeper+tls://a,b:1/locks");
  ASSERT_TRUE(plain.tls);
  EXPECT_TRUE(plain.tls->verify);
  EXPECT_EQ(plain.tls->ca_file, "");
  EXPECT_EQ(plain.text(), "a:2281,b:1");
  const Settings all = Settings::parse(
      "zookeeper+tls://a?ca=/ca.pem&cert=/c.pem&key=/k.pem&server-name=zk&verify=no&acl=creator");
  ASSERT_TRUE(all.tls);
  EXPECT_EQ(all.tls->ca_file, "/ca.pem");
  EXPECT_EQ(all.tls->certificate, "/c.pem");
  EXPECT_EQ(all.tls->key, "/k.pem");
  EXPECT_EQ(all.tls->server_name, "zk");
  EXPECT_FALSE(all.tls->verify);
  EXPECT_TRUE(all.creator_only) << "whoever shows a certificate is somebody";
  EXPECT_THAT(refusal("zookeeper+tls://a?cert=/c.pem"),
              HasSubstr("cert and key must be given together"));
  EXPECT_THAT(refusal("zookeeper+tls://a?verify=maybe"), HasSubstr("yes or no"));
  EXPECT_THAT(refusal("zookeeper+tls://a?acl=creator"), HasSubstr("needs a user"));
  EXPECT_THAT(refusal("zookeeper://a?ca=/x.pem"), HasSubstr("need the scheme zookeeper+tls"));
  EXPECT_THAT(refusal("zookeeper://a?tls=yes"), HasSubstr("zookeeper+tls://"));
  EXPECT_THAT(refusal("zookeeper+ssl://a"), HasSubstr("not a ZooKeeper scheme"));
}

TEST(ZooKeeperSettingsTest, SaysWhatTheCClientLacks) {
  EXPECT_THAT(refusal("zookeeper://a?sasl=gssapi"), HasSubstr("no SASL"));
  EXPECT_THAT(refusal("zookeeper+tls://a?sasl=gssapi"), HasSubstr("no SASL"));
}

TEST(ZooKeeperSettingsTest, APasswordComesFromOnePlace) {
  EXPECT_THAT(refusal("zookeeper://app@a"), HasSubstr("must be given together"));
  EXPECT_THAT(refusal("zookeeper://app:secret@a?password-file=/x"), HasSubstr("more than once"));
  EXPECT_THAT(refusal("zookeeper://a?password-file=/x"), HasSubstr("must be given together"));
  EXPECT_THAT(refusal("zookeeper://app@a?password-env=MORTISE_NO_SUCH"),
              HasSubstr("password-env names an environment variable that is not set"));
  ::setenv("MORTISE_TEST_SECRET", "secret", 1);
  EXPECT_EQ(Settings::parse("zookeeper://app@a?password-env=MORTISE_TEST_SECRET").digest(),
            "app:secret");
}

TEST(ZooKeeperSettingsTest, APasswordFileIsReadEachTime) {
  const model::TemporaryDirectory directory;
  const std::string path = directory.path() + "/password";
  const Settings settings = Settings::parse("zookeeper://app@a?password-file=" + path);
  EXPECT_THROW(static_cast<void>(settings.digest()), Error);
  std::ofstream(path) << "secret\n";
  EXPECT_EQ(settings.digest(), "app:secret");
  std::ofstream(path) << "other";
  EXPECT_EQ(settings.digest(), "app:other");
}

TEST(ZooKeeperSettingsTest, NoPasswordIsQuoted) {
  refusal("zookeeper://app:sec/secret@a");
  refusal("zookeeper://app:?secret@a");
  refusal("zookeeper://app:secret@a:x");
}

}  // namespace
}  // namespace mortise::zookeeper
