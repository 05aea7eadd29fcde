// SPDX-License-Identifier: MIT
// Goal: what a URL does not say comes from the service file and the environment, as for psql, and a
// setting that libpq rejects is refused at once, with its source. Method: variables, a service file
// and URLs, read without a server.
#include <mortise/error.hpp>

#include "model/temporary.hpp"
#include "postgres/settings.hpp"
#include "support/environment.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace mortise::postgres {
namespace {

class PostgresEnvironment : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* const name :
         {"PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE", "PGSSLMODE",
          "PGTARGETSESSIONATTRS", "PGOPTIONS", "PGAPPNAME", "PGGSSENCMODE", "PGPASSFILE",
          "PGPASSWORD", "PGCONNECT_TIMEOUT", "PGCHANNELBINDING"}) {
      environment_.unset(name);
    }
    environment_.set("PGSERVICEFILE", directory_.file("services"));
  }
  void set(const std::string& name, const std::string& value) { environment_.set(name, value); }
  /// @param lines of the service "shop"
  void serve(const std::string& lines) {
    std::ofstream(directory_.file("services")) << "[shop]\n" << lines;
  }
  static std::string value_of(const Settings& settings, const std::string& key) {
    const std::string* const value = value_in(settings.keywords, key);
    return value == nullptr ? "(none)" : *value;
  }
  static std::string where(const std::string& url) { return Settings::parse(url).where(); }
  static void expect_refused(const std::string& url, const std::string& words) {
    try {
      static_cast<void>(Settings::parse(url));
      ADD_FAILURE() << "accepted: " << url;
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), Errc::misconfigured);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }

 private:
  test::Environment environment_;
  model::TemporaryDirectory directory_;
};

// With two clusters on one host, the port alone says which.
TEST_F(PostgresEnvironment, GivesThePortOfAHostThatTheUrlNames) {
  set("PGPORT", "6543");
  EXPECT_EQ(where("postgresql://db/x"), "db:6543");
  // To libpq each of several hosts has a port then, the empty one, which is 5432.
  EXPECT_EQ(where("postgresql://a,b/x"), "a:5432, b:5432");
  EXPECT_EQ(where("postgresql:///x?host=/run/pg"), "/run/pg/.s.PGSQL.6543");
  EXPECT_EQ(where("postgresql:///x?hostaddr=10.0.0.7"), "10.0.0.7:6543");
  EXPECT_EQ(where("postgresql://db:5433/x"), "db:5433") << "the URL counts before it";
}

TEST_F(PostgresEnvironment, GivesTheHost) {
  set("PGHOST", "a,b");
  set("PGPORT", "1,2");
  EXPECT_EQ(where("postgresql:///x"), "a:1, b:2");
  set("PGHOST", "db");
  set("PGPORT", "");
  set("PGHOSTADDR", "10.0.0.7");
  // As libpq has it: the address is connected to, whichever source names the host.
  EXPECT_EQ(where("postgresql://elsewhere/x"), "10.0.0.7:5432");
  EXPECT_EQ(Settings::parse("postgresql://elsewhere/x").servers.front().name, "elsewhere");
}

TEST_F(PostgresEnvironment, GivesWhateverElseTheUrlLeavesOut) {
  set("PGUSER", "shop");
  set("PGDATABASE", "orders");
  set("PGSSLMODE", "require");
  set("PGTARGETSESSIONATTRS", "read-write");
  set("PGOPTIONS", "-c geqo=off");
  set("PGAPPNAME", "till");
  set("PGPASSFILE", "/etc/shop/pgpass");
  set("PGGSSENCMODE", "prefer");
  const Settings settings = Settings::parse("postgresql://db");
  EXPECT_EQ(value_of(settings, "user"), "shop");
  EXPECT_EQ(value_of(settings, "dbname"), "orders");
  EXPECT_EQ(value_of(settings, "sslmode"), "require");
  EXPECT_EQ(value_of(settings, "target_session_attrs"), "read-write");
  EXPECT_EQ(value_of(settings, "options"), "-c geqo=off");
  EXPECT_EQ(value_of(settings, "application_name"), "till");
  EXPECT_EQ(value_of(settings, "passfile"), "/etc/shop/pgpass");
  EXPECT_EQ(value_of(settings, "gssencmode"), "prefer") << "only where nobody says otherwise";
  const Settings own = Settings::parse("postgresql://till@db/x?sslmode=disable");
  EXPECT_EQ(value_of(own, "user"), "till");
  EXPECT_EQ(value_of(own, "sslmode"), "disable");
}

TEST_F(PostgresEnvironment, NamesAService) {
  serve("host=db.service\nport=7000\nuser=till\nkeepalives_idle=77\nsslmode=require\n");
  set("PGPORT", "6543");
  set("PGSSLMODE", "disable");
  set("PGSERVICE", "shop");
  for (const char* const url : {"postgresql:///x", "postgresql:///x?service=shop"}) {
    const Settings settings = Settings::parse(url);
    EXPECT_EQ(settings.where(), "db.service:7000") << "it counts before the variables";
    EXPECT_EQ(value_of(settings, "user"), "till");
    EXPECT_EQ(value_of(settings, "sslmode"), "require");
    EXPECT_EQ(value_of(settings, "keepalives_idle"), "77");
    EXPECT_EQ(value_of(settings, "keepalives_count"), "3") << "our own default";
  }
  EXPECT_EQ(where("postgresql://db/x"), "db:7000") << "the URL counts before it";
}

TEST_F(PostgresEnvironment, OfAServiceThatIsNotThereIsRefused) {
  expect_refused("postgresql://db/x?service=shop", "URL: libpq rejects service");
  set("PGSERVICE", "shop");
  expect_refused("postgresql://db/x", "environment variable PGSERVICE: libpq rejects service: ");
  serve("host=db.service\nnonsense=1\n");
  expect_refused("postgresql:///x", "environment variable PGSERVICE: libpq rejects service: ");
}

TEST_F(PostgresEnvironment, HasItsMistakesToldWithTheirSource) {
  expect_refused("postgresql://db/x?sslmode=requir", "URL: libpq rejects sslmode");
  expect_refused("postgresql://db/x?target_session_attrs=primry",
                 "URL: libpq rejects target_session_attrs");
  expect_refused("postgresql://db/x?channel_binding=yes", "URL: libpq rejects channel_binding");
  expect_refused("postgresql://db/x?gssencmode=yes", "URL: libpq rejects gssencmode");
  expect_refused("postgresql://db/x?ssl_min_protocol_version=9",
                 "URL: libpq rejects ssl_min_protocol_version");
  expect_refused("postgresql://a,b/x?hostaddr=10.0.0.7", "libpq rejects them together: ");
  serve("sslmode=requir\n");
  expect_refused("postgresql://db/x?service=shop", "service file: libpq rejects sslmode: ");
  expect_refused("postgresql://db/x?service=shop", "invalid sslmode value: misconfigured");
  set("PGSSLMODE", "require!");
  expect_refused("postgresql://db/x", "environment variable PGSSLMODE: libpq rejects sslmode: ");
  set("PGTARGETSESSIONATTRS", "any!");
  expect_refused("postgresql://db/x?sslmode=disable",
                 "environment variable PGTARGETSESSIONATTRS: ");
}

// An '&' of a password that is not escaped makes a parameter of what follows.
TEST_F(PostgresEnvironment, ValuesOfTheUrlAreInNoRefusal) {
  const auto expect_secret = [](const std::string& url) {
    try {
      static_cast<void>(Settings::parse(url));
      ADD_FAILURE() << "accepted: " << url;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("hunter2"), std::string::npos) << error.what();
    }
  };
  const auto expect_all_secret = [&] {
    for (const char* const pair :
         {"service=hunter2", "sslmode=hunter2", "target_session_attrs=hunter2",
          "channel_binding=hunter2", "gssencmode=hunter2", "ssl_min_protocol_version=hunter2",
          "keepalives_idle=hunter2", "port=hunter2", "hostaddr=hunter2"}) {
      expect_secret(std::string("postgresql://db/x?password=a&") + pair);
    }
  };
  expect_all_secret();
  // Two mistakes at once: the words about one are not those about the other.
  set("PGSSLMODE", "require!");
  expect_all_secret();
  set("PGSSLMODE", "");
  serve("user=till\n");
  set("PGSERVICE", "elsewhere");
  expect_all_secret();
  expect_secret("postgresql://db/x?password=a&service=shop&sslmode=hunter2");
  expect_refused("postgresql://db/x?service=shop&sslmode=hunter2", "URL: libpq rejects sslmode");
}

TEST_F(PostgresEnvironment, AlsoThoseThatLibpqFindsWithASocketOnly) {
  expect_refused("postgresql://db/x?keepalives_idle=soon",
                 "URL: keepalives_idle must be a whole number");
  expect_refused("postgresql://db/x?tcp_user_timeout=1s",
                 "URL: tcp_user_timeout must be a whole number");
  set("PGCONNECT_TIMEOUT", "soon");
  expect_refused("postgresql://db/x",
                 "environment variable PGCONNECT_TIMEOUT: connect_timeout must be a whole number");
  set("PGCONNECT_TIMEOUT", "3");
  expect_refused("postgresql://db/x?hostaddr=db.internal", "URL: hostaddr must be an IP address");
  set("PGPORT", "five");
  expect_refused("postgresql://db/x", "environment variable PGPORT: the port must be a number");
  EXPECT_EQ(where("postgresql://db:1/x"), "db:1");
  expect_refused("postgresql:///x?port=1&host=/" + std::string(100, 'a'),
                 "URL: the path of the unix socket has 112 bytes; at most 107 are allowed");
  EXPECT_EQ(where("postgresql:///x?port=1&host=/" + std::string(95, 'a')).size(), 107U);
}

TEST_F(PostgresEnvironment, LeadsToAServerThatTakesWrites) {
  expect_refused(
      "postgresql://db/x?target_session_attrs=standby",
      "URL: target_session_attrs is 'standby', but locks need a server that takes writes");
  set("PGTARGETSESSIONATTRS", "read-only");
  expect_refused("postgresql://db/x", "environment variable PGTARGETSESSIONATTRS: ");
  for (const char* const fine : {"any", "read-write", "primary", "prefer-standby"}) {
    const std::string url = std::string("postgresql://db/x?target_session_attrs=") + fine;
    EXPECT_EQ(value_of(Settings::parse(url), "target_session_attrs"), fine);
  }
}

}  // namespace
}  // namespace mortise::postgres
