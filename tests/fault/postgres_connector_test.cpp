// SPDX-License-Identifier: MIT
// Goal: over connections that the program makes itself PostgreSQL is what it is over libpq's own,
// and a connector that misbehaves holds nobody up. Method: connectors of every mood in front of a
// real server, plain and by TLS.
#include "fault/postgres_fixture.hpp"
#include "support/carrier.hpp"
#include "support/certificates.hpp"

#include <sys/wait.h>
#include <unistd.h>

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

TEST_F(PostgresConnector, LocksAreTakenAndHandedOverThroughIt) {
  for (const Way way : {Way::socket, Way::pair}) {
    const auto carrier = Carrier::to(server().port(), way);
    Client first = client_of(*carrier);
    Lock lock = first.lock("a");
    ASSERT_TRUE(lock.try_lock_for(patience));
    EXPECT_EQ(carrier->place(), "db.mesh.invalid:5432");
    Party second(client_of(*carrier), "a");
    std::future<Token> waiting = second.start();
    ASSERT_TRUE(comes_to_wait("a"));
    EXPECT_EQ(lock.release(), Released::released);
    ASSERT_TRUE(comes(waiting));
    EXPECT_EQ(second.release(), Released::released);
  }
}

TEST_F(PostgresConnector, TlsIsSpokenThroughIt) {
  const Certificates files;
  static_cast<void>(
      server({.tls = PostgresServerOptions::Tls::client_certificate_too, .certificates = &files}));
  for (const Way way : {Way::socket, Way::pair}) {
    const auto carrier = Carrier::to(server().port(), way);
    Client mine = client_of(*carrier, "localhost");
    Lock lock = mine.lock("a");
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

TEST_F(PostgresConnector, IsCalledAgainAfterEachBreak) {
  Proxy way(server().port(), {.protocol = test::ProxyProtocol::postgres});
  const auto carrier = Carrier::to(way.port());
  Client mine = client_of(*carrier);
  Lock lock = mine.lock("a");
  ASSERT_TRUE(lock.try_lock_for(patience));
  for (int i = 0; i < 3; ++i) {
    const int before = carrier->calls();
    EXPECT_GE(way.cut_all(), 1U);
    mine.check(patience);
    EXPECT_GT(carrier->calls(), before);
  }
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(PostgresConnector, WhatItFailsWithIsSaid) {
  const auto carrier = Carrier::to(server().port());
  for (const auto& [mood, words] : {std::pair{Mood::throws, "the tunnel is shut"},
                                    {Mood::nothing, "no descriptor"},
                                    {Mood::closed, "no socket"},
                                    {Mood::listening, "not connected"},
                                    {Mood::datagram, "no stream socket"}}) {
    carrier->set(mood);
    Client mine = client_of(*carrier);
    const Failure failure = told(mine, words);
    EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr("db.mesh.invalid:5432"));
    carrier->set(Mood::well);
    EXPECT_FALSE(failure_of([&] { mine.check(patience); })) << "it goes on trying";
  }
}

TEST_F(PostgresConnector, OneThatHangsHoldsNobodyUp) {
  const auto carrier = Carrier::to(server().port());
  carrier->set(Mood::hangs);
  Client mine = client_of(*carrier);
  Lock lock = mine.lock("a");
  const auto limit = 100ms + allowance + slack;
  EXPECT_LT(
      least_duration_of(
          limit,
          [&] { EXPECT_TRUE(failure_of([&] { static_cast<void>(lock.try_lock_for(100ms)); })); }),
      limit);
  carrier->set(Mood::well);
  EXPECT_FALSE(failure_of([&] { mine.check(patience); }));
  carrier->set(Mood::hangs);
  auto other = std::make_unique<Client>(client_of(*carrier));
  EXPECT_TRUE(failure_of([&] { other->check(50ms); }));
  EXPECT_LT(own_duration_of([&] { other.reset(); }), 1s);
  carrier->set(Mood::throws);
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

TEST_F(PostgresConnector, ASlowOneIsWaitedForAsLongAsTheCallSays) {
  const auto carrier = Carrier::to(server().port());
  carrier->set(Mood::slow);
  Client mine = client_of(*carrier);
  Lock lock = mine.lock("a");
  EXPECT_EQ(failure_of([&] { static_cast<void>(lock.try_lock_for(100ms)); }).code,
            Errc::unavailable);
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
}

// Two that read one stream would take each other's answers for their own.
TEST_F(PostgresConnector, OneConnectionIsNotTakenTwice) {
  const auto carrier = Carrier::to(server().port());
  carrier->set(Mood::same);
  {
    Client mine = client_of(*carrier);
    Lock lock = mine.lock("a");
    ASSERT_TRUE(lock.try_lock_for(patience));
    Client other = client_of(*carrier);
    const Failure failure = told(other, "the connector gave");
    EXPECT_EQ(failure.code, Errc::unavailable);
    EXPECT_EQ(lock.release(), Released::released);
  }
}

TEST_F(PostgresConnector, TheClientMayEndInsideIt) {
  const auto carrier = Carrier::to(server().port());
  std::unique_ptr<Client> mine;
  std::atomic<bool> ended{false};
  mine = std::make_unique<Client>(
      postgres::backend(at("db.mesh.invalid"), [&](const std::string&, std::uint16_t) {
        mine->close();
        ended.store(true);
        return -1;
      }));
  EXPECT_EQ(failure_of([&] { mine->check(patience); }).code, Errc::closed);
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
}

TEST_F(PostgresConnector, NoDescriptorIsLeftWhateverItDoes) {
  const auto carrier = Carrier::to(server().port());
  const auto before = test::descriptors();
  for (const Mood mood : {Mood::well, Mood::throws, Mood::listening, Mood::datagram, Mood::slow,
                          Mood::hangs, Mood::well}) {
    carrier->set(mood);
    Client mine = client_of(*carrier);
    static_cast<void>(failure_of([&] { mine.check(150ms); }));
  }
  EXPECT_TRUE(eventually([&] { return test::descriptors() == before; }))
      << before << " became " << test::descriptors();
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

TEST_F(PostgresConnector, AnEmptyOneIsRefused) {
  EXPECT_EQ(
      failure_of([&] { static_cast<void>(postgres::backend("postgresql://a", Connector())); }).code,
      Errc::misconfigured);
}

TEST_F(PostgresConnector, AForkedChildLeavesTheConnectionAlone) {
  const auto carrier = Carrier::to(server().port());
  Client mine = client_of(*carrier);
  Lock lock = mine.lock("a");
  ASSERT_TRUE(lock.try_lock_for(patience));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // where it hangs
    const Failure failure = failure_of([&] { mine.check(1s); });
    ::_exit(failure.code == Errc::closed ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(lock.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
