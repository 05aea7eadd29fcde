// SPDX-License-Identifier: MIT
// Goal: a PostgreSQL URL means to us what it means to libpq, our own parameters are taken out of
// it, and no message quotes a password. Method: URLs, good and bad, read without a server.
#include <mortise/error.hpp>

#include "postgres/settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace mortise::postgres {
namespace {

std::string value_of(const Settings& settings, const std::string& key) {
  const auto found = std::find_if(settings.keywords.begin(), settings.keywords.end(),
                                  [&](const auto& each) { return each.first == key; });
  return found == settings.keywords.end() ? "(none)" : found->second;
}

std::string refusal_of(const std::string& url) {
  try {
    static_cast<void>(Settings::parse(url));
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::misconfigured);
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << url;
  return {};
}

TEST(PostgresSettings, ReadWhatLibpqReads) {
  const Settings settings =
      Settings::parse("postgresql://shop:s%2Fec%40ret@db.internal:5433/orders?sslmode=require");
  ASSERT_EQ(settings.servers.size(), 1U);
  EXPECT_EQ(settings.servers[0].name, "db.internal");
  EXPECT_EQ(settings.servers[0].address.port, 5433);
  EXPECT_EQ(value_of(settings, "user"), "shop");
  EXPECT_EQ(value_of(settings, "password"), "s/ec@ret");
  EXPECT_EQ(value_of(settings, "dbname"), "orders");
  EXPECT_EQ(value_of(settings, "sslmode"), "require");
  EXPECT_EQ(settings.schema, "mortise");
  EXPECT_FALSE(settings.fair);
  EXPECT_FALSE(settings.pooled.has_value());
  EXPECT_EQ(settings.where(), "db.internal:5433");
}

TEST(PostgresSettings, TakeOurParametersOutAndLeaveTheOthers) {
  const Settings settings = Settings::parse(
      "postgres://db/orders?mortise.schema=locks_2&application_name=a%26b&mortise.fair=yes"
      "&mortise.pooled=no&mortise.connections=3&options=-c%20geqo%3Doff");
  EXPECT_EQ(settings.schema, "locks_2");
  EXPECT_TRUE(settings.fair);
  EXPECT_EQ(settings.pooled, std::optional(false));
  EXPECT_EQ(settings.connections, 3U);
  EXPECT_EQ(value_of(settings, "application_name"), "a&b");
  EXPECT_EQ(value_of(settings, "options"), "-c geqo=off");
}

TEST(PostgresSettings, FindTheQueryWhereLibpqFindsIt) {
  const Settings settings =
      Settings::parse("postgresql://shop:why?mortise.fair=yes@db/x?mortise.fair=no");
  EXPECT_EQ(value_of(settings, "password"), "why?mortise.fair=yes");
  EXPECT_FALSE(settings.fair);
}

TEST(PostgresSettings, NameSeveralServers) {
  const Settings settings = Settings::parse("postgresql://a:1,b,[::1]:3/orders");
  ASSERT_EQ(settings.servers.size(), 3U);
  EXPECT_EQ(settings.servers[0].address.text(), "a:1");
  EXPECT_EQ(settings.servers[1].address.text(), "b:5432");
  EXPECT_EQ(settings.servers[2].address.text(), "[::1]:3");
}

TEST(PostgresSettings, NameUnixSockets) {
  for (const char* url :
       {"postgresql:///orders?host=/run/pg&port=5433", "postgresql://%2Frun%2Fpg:5433/orders"}) {
    const Settings settings = Settings::parse(url);
    ASSERT_EQ(settings.servers.size(), 1U);
    EXPECT_EQ(settings.servers[0].name, "/run/pg");
    EXPECT_EQ(settings.servers[0].address.path, "/run/pg/.s.PGSQL.5433");
  }
  EXPECT_EQ(Settings::parse("postgresql:///orders").servers[0].address.path,
            "/var/run/postgresql/.s.PGSQL.5432");
}

TEST(PostgresSettings, ConnectToTheNumberAndAskTheCertificateForTheName) {
  const Settings settings = Settings::parse("postgresql://db.internal/orders?hostaddr=10.0.0.7");
  EXPECT_EQ(settings.servers[0].name, "db.internal");
  EXPECT_EQ(settings.servers[0].address.text(), "10.0.0.7:5432");
}

TEST(PostgresSettings, NoticeADeadServerByThemselves) {
  const Settings settings = Settings::parse("postgresql://db/orders?keepalives_idle=77");
  EXPECT_EQ(value_of(settings, "keepalives_idle"), "77") << "the user's word counts";
  EXPECT_EQ(value_of(settings, "keepalives_count"), "3");
  EXPECT_EQ(value_of(settings, "tcp_user_timeout"), "10000");
  EXPECT_EQ(value_of(settings, "gssencmode"), "disable") << "it would ask Kerberos, and block";
  EXPECT_EQ(value_of(Settings::parse("postgresql://db/orders?gssencmode=require"), "gssencmode"),
            "require");
}

TEST(PostgresSettings, RefuseWhatMakesNoSenseByName) {
  EXPECT_NE(refusal_of("postgresql://db/x?mortise.fare=yes")
                .find("begin with mortise. are connections, fair"),
            std::string::npos);
  EXPECT_NE(
      refusal_of("postgresql://db/x?mortise.fair=maybe").find("mortise.fair must be yes or no"),
      std::string::npos);
  EXPECT_NE(refusal_of("postgresql://db/x?mortise.fair").find("has no value"), std::string::npos);
  EXPECT_NE(refusal_of("postgresql://db/x?mortise.fair=yes&mortise.fair=no").find("twice"),
            std::string::npos);
  for (const char* number : {"0", "65", "-1", "x", "", "1x"}) {
    EXPECT_NE(refusal_of(std::string("postgresql://db/x?mortise.connections=") + number)
                  .find("mortise.connections"),
              std::string::npos);
  }
  for (const char* schema : {"", "Locks", "lo-cks", "1locks", "locks%22", "a;b", "a.b"}) {
    EXPECT_NE(refusal_of(std::string("postgresql://db/x?mortise.schema=") + schema)
                  .find("mortise.schema"),
              std::string::npos);
  }
  EXPECT_NE(refusal_of("postgresql://db:0/x").find("port"), std::string::npos);
  EXPECT_NE(refusal_of("postgresql://db:70000/x").find("port"), std::string::npos);
  EXPECT_NE(refusal_of("postgresql://db/x?service=shop").find("service"), std::string::npos);
  EXPECT_NE(refusal_of("mysql://db/x").find("not a PostgreSQL scheme"), std::string::npos);
  EXPECT_NE(refusal_of("postgresql:db/x").find("'//' is missing"), std::string::npos);
  EXPECT_EQ(refusal_of("postgres:shop:secret@db/x").find("secret"), std::string::npos);
  const std::string unknown = "unknown parameter; neither libpq nor Mortise";
  EXPECT_NE(refusal_of("postgresql://db/x?ssl=true&sslmode=require&nope=1").find(unknown),
            std::string::npos);
  EXPECT_NE(refusal_of("postgresql://shop:secret@db/x?nope").find(unknown), std::string::npos);
}

TEST(PostgresSettings, DoNotEndAtANul) {
  EXPECT_NE(refusal_of(std::string("postgresql://db\0.example/x", 26)).find("control"),
            std::string::npos);
  EXPECT_NE(refusal_of("postgresql://db/x\n").find("control"), std::string::npos);
}

TEST(PostgresSettings, NeverQuoteAPassword) {
  for (const char* url : {
           "postgresql://shop:1/secret@db/x",
           "postgresql://shop:a@1/secret@db/x",
           "postgresql://secret:5432/2@db/x",
           "postgresql://shop:se%ZZcret@db/x",
           "postgresql://shop:secret/more@db/x",
           "postgresql://shop:a@secret@db/x",
           "postgresql://shop:a@@secret@db/x",
           "postgresql://shop:a@%2Fsecret@db/x",
           "postgresql://shop:a@b?mortise.fair=secret@db/x",
           "postgresql://shop:a/b?mortise.secret@db/x",
           "postgresql://shop:secret@db/x?password=secret=2",
           "postgresql://shop:secret@db/x?nope=secret",
           "postgresql://shop:a@b?secret=1@db/x",
           "postgresql://shop:a/b?secret=1@db/x",
           "postgresql://shop:secret@db:port/x",
           "postgresql://shop:sec ret@[db/x",
           "postgresql://shop:secret@db/x?sslpassword",
       }) {
    EXPECT_EQ(refusal_of(url).find("secret"), std::string::npos) << refusal_of(url);
  }
}

}  // namespace
}  // namespace mortise::postgres
