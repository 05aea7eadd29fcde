// SPDX-License-Identifier: MIT
// Goal: tests can trust the private PostgreSQL, the pgbouncer and the client that they are built
// on. Method: start, kill, stop and restart real servers, and look at what is left in them.
#include "support/certificates.hpp"
#include "support/eventually.hpp"
#include "support/pgbouncer.hpp"
#include "support/postgres_server.hpp"

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class PostgresServerTest : public testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_POSTGRES_SERVER(); }
};

TEST_F(PostgresServerTest, AnswersOnItsPortAndOnItsSocketToItsRoles) {
  const PostgresServer server;
  EXPECT_EQ(PostgresTalk(server.url()).value("select current_user"), "shop");
  EXPECT_EQ(PostgresTalk(server.owner_url()).value("select current_user"), "shop_owner");
  EXPECT_EQ(server.user().value("select current_database()"), "shop");
  PostgresTalk all = server.talk();
  EXPECT_EQ(all.value("select rolsuper from pg_roles where rolname = current_user"), "t");
  EXPECT_EQ(all.value("show fsync"), "on");
  EXPECT_EQ(all.value("show wal_segment_size"), "1MB");
}

TEST_F(PostgresServerTest, TheApplicationMayDoNothingYetAndTheOwnerMayMakeSchemas) {
  const PostgresServer server;
  EXPECT_EQ(server.user().refusal("create table t (i int)"), "42501");
  EXPECT_EQ(server.user().refusal("create schema s"), "42501");
  PostgresTalk owner(server.owner_url());
  owner.run("create schema s; create table s.t (i int)");
  EXPECT_EQ(server.user().refusal("select * from s.t"), "42501");
}

TEST_F(PostgresServerTest, AWrongPasswordIsRefused) {
  const PostgresServer server;
  std::string url = server.url();
  url.replace(url.find(postgres_password), std::string(postgres_password).size(), "wrong");
  EXPECT_THROW(PostgresTalk{url}, PostgresTalkError);
}

TEST_F(PostgresServerTest, WhatWasCommittedSurvivesEveryEnd) {
  PostgresServer server;
  const std::string url = server.url();
  server.talk().run("create table t (i int)");
  int rows = 0;
  const auto insert = [&] {
    server.talk().run("insert into t values (1)");
    ++rows;
  };
  const auto expect_all = [&](const char* after) {
    EXPECT_EQ(server.talk().value("select count(*) from t"), std::to_string(rows)) << after;
    EXPECT_EQ(server.url(), url);
  };
  insert();
  server.restart();
  expect_all("restart");
  insert();
  server.crash();
  server.start();
  expect_all("crash");
  insert();
  server.kill();
  EXPECT_THROW(PostgresTalk{url}, PostgresTalkError);
  server.start();
  expect_all("kill");
  EXPECT_THROW(server.start(), std::logic_error);
}

TEST_F(PostgresServerTest, AStoppedServerIsSilentUntilItGoesOn) {
  PostgresServer server;
  PostgresTalk talk = server.talk();
  server.stop();
  talk.send("select 1");
  EXPECT_FALSE(talk.answered(50ms));
  server.resume();
  EXPECT_TRUE(talk.answered(patience));
}

TEST_F(PostgresServerTest, NotificationsAndNoticesCome) {
  const PostgresServer server;
  PostgresTalk hears = server.talk();
  PostgresTalk tells = server.talk();
  hears.run("listen bell");
  EXPECT_FALSE(hears.notification(0ms));
  tells.run("notify bell, 'ding'");
  EXPECT_EQ(hears.notification(patience), "ding");
}

// A handshake as another program makes it; who comes without TLS is sent away.
TEST_F(PostgresServerTest, SpeaksTls) {
  const Certificates certificates;
  PostgresServer::Options options;
  EXPECT_THROW(PostgresServer({.tls = PostgresServer::Options::Tls::server_certificate}),
               std::invalid_argument);
  options.certificates = &certificates;
  options.tls = PostgresServer::Options::Tls::server_certificate;
  const PostgresServer one(options);
  EXPECT_EQ(::PQsslInUse(PostgresTalk(one.url()).handle()), 1);
  EXPECT_THROW(PostgresTalk{PostgresServer::url_by(one.port()) + "?sslmode=disable"},
               PostgresTalkError);
  const Certificates others;
  EXPECT_THROW(PostgresTalk{PostgresServer::url_by(one.port()) +
                            "?sslmode=verify-full&sslrootcert=" + others.ca()},
               PostgresTalkError);
  options.tls = PostgresServer::Options::Tls::client_certificate_too;
  const PostgresServer strict(options);
  EXPECT_EQ(::PQsslInUse(PostgresTalk(strict.url()).handle()), 1);
  EXPECT_THROW(PostgresTalk{PostgresServer::url_by(strict.port()) +
                            "?sslmode=verify-full&sslrootcert=" + certificates.ca()},
               PostgresTalkError);
}

TEST_F(PostgresServerTest, SettingsAndAccessAreThoseOfTheTest) {
  const PostgresServer server(
      {.settings = {"max_connections = 13"}, .access = {"host all shop 127.0.0.1/32 reject"}});
  EXPECT_EQ(server.talk().value("show max_connections"), "13");
  EXPECT_THROW(PostgresTalk{server.url()}, PostgresTalkError);
  EXPECT_NO_THROW(PostgresTalk{server.owner_url()});
}

TEST_F(PostgresServerTest, AServerThatCanNotStartSaysWhy) {
  try {
    const PostgresServer server({.settings = {"shared_preload_libraries = 'no_such_library'"}});
    FAIL() << "it has started";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("no_such_library"), std::string::npos) << error.what();
  }
}

TEST_F(PostgresServerTest, AStandbyFollowsAndIsPromoted) {
  PostgresServer primary;
  primary.talk().run("create table t (i int)");
  PostgresServer standby({.standby_of = &primary});
  EXPECT_EQ(standby.talk().value("select pg_is_in_recovery()"), "t");
  primary.talk().run("insert into t values (1)");
  EXPECT_TRUE(eventually([&] { return standby.talk().value("select count(*) from t") == "1"; }));
  EXPECT_EQ(standby.talk().refusal("insert into t values (2)"), "25006");
  primary.kill();
  standby.promote();
  EXPECT_EQ(standby.talk().refusal("insert into t values (2)"), "");
  EXPECT_EQ(standby.talk().value("select count(*) from t"), "2");
}

TEST_F(PostgresServerTest, PgbouncerLendsAnotherSessionToEachTransaction) {
  MORTISE_NEEDS_PGBOUNCER();
  PostgresServer server;
  Pgbouncer pooler(server, {.pool_size = 1});
  PostgresTalk one(pooler.url());
  PostgresTalk other(pooler.url());
  EXPECT_EQ(one.value("select current_user"), "shop");
  EXPECT_EQ(one.value("select pg_backend_pid()"), other.value("select pg_backend_pid()"));
  pooler.restart();
  EXPECT_EQ(PostgresTalk(pooler.url()).value("select 1"), "1");
}

}  // namespace
}  // namespace mortise::test
