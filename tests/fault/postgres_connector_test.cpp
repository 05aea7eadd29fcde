// SPDX-License-Identifier: MIT
// Goal: what only PostgreSQL asks of connections that the program makes itself: libpq's TLS, its
// further tries, several hosts. Method: connectors in front of a real server. See
// connector_test.cpp.
#include "fault/postgres_fixture.hpp"
#include "support/carrier.hpp"
#include "support/certificates.hpp"

namespace mortise::fault {
namespace {

using test::Carrier;
using test::Certificates;
using test::told;
using Mood = Carrier::Mood;
using Way = Carrier::Way;

class PostgresConnector : public PostgresTest {
 protected:
  /// The URL of the server, with another host in it, which no name server knows.
  [[nodiscard]] std::string at(const std::string& host) {
    std::string url = server().url();
    const std::size_t from = url.find('@') + 1;
    return url.replace(from, url.find('/', from) - from, host);
  }
  [[nodiscard]] Client client_of(Carrier& carrier, const std::string& host = "db.mesh.invalid") {
    return Client(postgres::backend(at(host), carrier.connector()));
  }
};

TEST_F(PostgresConnector, TlsIsSpokenThroughIt) {
  const Certificates files;
  static_cast<void>(
      server({.tls = PostgresServerOptions::Tls::client_certificate_too, .certificates = &files}));
  for (const Way way : {Way::socket, Way::pair}) {
    const auto carrier = Carrier::to(server().port(), way);
    Client mine = client_of(*carrier, "localhost");
    Lock lock = mine.make_lock("a");
    ASSERT_TRUE(lock.try_lock_for(patience));
    EXPECT_EQ(see("select bool_and(ssl) from pg_stat_ssl natural join pg_stat_activity"
                  " where usename = 'shop'"),
              "t");
    EXPECT_EQ(lock.release(), Released::released);
    if (way == Way::pair) continue;
    // The host as the URL says it, and not where the connector has led.
    Client other = client_of(*carrier);
    const Failure failure = failure_of([&] { other.check(300ms); });
    EXPECT_TRUE(failure);
    EXPECT_THAT(failure.text, HasSubstr("does not match host name \"db.mesh.invalid\""));
  }
}

// libpq would try once more with TLS, by a connection of its own.
TEST_F(PostgresConnector, ARefusedFirstTryIsNotFollowedByOneElsewhere) {
  const Certificates files;
  static_cast<void>(
      server({.tls = PostgresServerOptions::Tls::server_certificate, .certificates = &files}));
  const auto carrier = Carrier::to(server().port());
  std::string url = at("localhost");
  url.replace(url.find("sslmode=verify-full"), 19, "sslmode=allow");
  Client mine(postgres::backend(url, carrier->connector()));
  const Failure failure = failure_of([&] { mine.check(patience); });
  EXPECT_EQ(failure.code, Errc::denied) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("no pg_hba.conf entry"));
  EXPECT_EQ(carrier->calls(), 1);
}

// Host by host, as without.
TEST_F(PostgresConnector, IsCalledForEachHostOfTheUrl) {
  const auto carrier = Carrier::to(server().port());
  carrier->set(Mood::throws);
  Client mine = client_of(*carrier, "a.invalid:1,b.invalid:2");
  static_cast<void>(told(mine, "b.invalid:2: the tunnel is shut"));
  EXPECT_GE(carrier->calls(), 2);
  carrier->set(Mood::well);
  EXPECT_FALSE(failure_of([&] { mine.check(patience); }));
}

// One that hangs for a host that is down must not stand for those behind it.
TEST_F(PostgresConnector, HangsForOneHostAndTheNextIsReached) {
  const auto carrier = Carrier::to(server().port());
  carrier->set(Mood::hangs, "a.invalid");
  Client mine = client_of(*carrier, "a.invalid:1,b.invalid:2");
  EXPECT_FALSE(failure_of([&] { mine.check(patience); }));
  EXPECT_EQ(carrier->place(), "b.invalid:2");
  const auto before = test::descriptors();
  carrier->set(Mood::well);
  EXPECT_TRUE(eventually([&] { return carrier->given() == 2; }));
  EXPECT_TRUE(eventually([&] { return test::descriptors() == before; }))
      << "what comes late is closed";
}

TEST_F(PostgresConnector, WhatLibpqCannotCheckIsRefused) {
  const auto carrier = Carrier::to(1);
  EXPECT_EQ(failure_of([&] {
              static_cast<void>(
                  postgres::backend("postgresql:///a?requirepeer=postgres", carrier->connector()));
            }).code,
            Errc::unsupported);
}

}  // namespace
}  // namespace mortise::fault
