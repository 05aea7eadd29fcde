// SPDX-License-Identifier: MIT
// Goal: what only Redis asks of connections that the program makes itself: its own TLS, a third
// connection, one server. Method: connectors in front of a real server. See connector_test.cpp.
#include "fault/redis_fixture.hpp"
#include "support/carrier.hpp"
#include "support/certificates.hpp"

namespace mortise::fault {
namespace {

using test::Carrier;
using test::Certificates;
using Mood = Carrier::Mood;
using Way = Carrier::Way;

class RedisConnector : public RedisTest {
 protected:
  // A host that no name server knows: nobody looks it up.
  static constexpr const char* url = "redis://redis.mesh.invalid:1";

  [[nodiscard]] static Client client_of(Carrier& carrier, const std::string& to = url) {
    return Client(redis::backend(to, carrier.connector()));
  }
};

TEST_F(RedisConnector, TlsIsSpokenThroughIt) {
  const Certificates files;
  RedisServerOptions options;
  options.tls = RedisServerOptions::Tls::client_certificate_too;
  options.certificates = &files;
  static_cast<void>(server(options));
  for (const Way way : {Way::socket, Way::pair}) {
    const auto carrier = Carrier::to(server().tls_port(), way);
    const std::string with =
        "?ca=" + files.ca() + "&cert=" + files.client_certificate() + "&key=" + files.client_key();
    Client mine = client_of(*carrier, "rediss://localhost" + with);
    Lock lock = mine.make_lock("a");
    ASSERT_TRUE(lock.try_lock_for(patience));
    EXPECT_EQ(lock.release(), Released::released);
    Client other = client_of(*carrier, "rediss://redis.mesh.invalid" + with);
    const Failure failure = failure_of([&] { other.check(10s); });
    EXPECT_EQ(failure.code, Errc::denied) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr("ostname mismatch"));
  }
}

TEST_F(RedisConnector, OneThatHangsIsSaidToDoSo) {
  const auto carrier = Carrier::to(1);
  carrier->set(Mood::hangs);
  Client mine = client_of(*carrier);
  const Failure failure = failure_of([&] { mine.check(3s); });
  EXPECT_EQ(failure.code, Errc::unavailable);
  EXPECT_THAT(failure.text, HasSubstr("connector returned no connection in time"));
  carrier->set(Mood::throws);
}

TEST_F(RedisConnector, WaitsForReplicasByAThirdConnection) {
  const auto carrier = Carrier::to(server().port());
  Client mine = client_of(*carrier, std::string(url) + "?replicas=1");
  Lock lock = mine.make_lock("a");
  // There is none.
  EXPECT_TRUE(failure_of([&] { static_cast<void>(lock.try_lock_for(300ms)); }));
  EXPECT_EQ(carrier->place(), "redis.mesh.invalid:1");
  EXPECT_GE(carrier->calls(), 2);
}

// A balancer, say, before two servers that know nothing of each other.
TEST_F(RedisConnector, OneThatLeadsToTwoServersIsNotCalledWithoutAPause) {
  RedisServer another;
  const auto one = Carrier::to(server().port());
  const auto two = Carrier::to(another.port());
  std::atomic<int> calls{0};
  Client mine(redis::backend(url, [&, a = one->connector(), b = two->connector()](
                                      const std::string& host, std::uint16_t port) {
    return (calls++ % 2 == 0 ? a : b)(host, port);
  }));
  Client theirs = client();
  ASSERT_TRUE(theirs.make_lock("a").try_lock());
  std::error_code error;
  EXPECT_FALSE(mine.make_lock("a").try_lock_for(700ms, error));
  mine.close();
  EXPECT_LT(calls, 25);
}

TEST_F(RedisConnector, OneForAClusterIsRefused) {
  const auto carrier = Carrier::to(1);
  for (const char* const of_several : {"redis+cluster://a", "redis+sentinel://a/master"}) {
    EXPECT_EQ(failure_of([&] {
                static_cast<void>(redis::backend(of_several, carrier->connector()));
              }).code,
              Errc::unsupported);
  }
}

}  // namespace
}  // namespace mortise::fault
