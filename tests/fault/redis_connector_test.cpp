// SPDX-License-Identifier: MIT
// Goal: over connections that the program makes itself Redis is what it is over the library's own,
// and a connector that misbehaves holds nobody up. Method: connectors of every mood in front of a
// real server, plain and by TLS.
#include "fault/redis_fixture.hpp"
#include "support/carrier.hpp"
#include "support/certificates.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace mortise::fault {
namespace {

using test::Carrier;
using test::Certificates;
using test::told;
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

TEST_F(RedisConnector, LocksAreTakenAndHandedOverThroughIt) {
  for (const Way way : {Way::socket, Way::pair}) {
    const auto carrier = Carrier::to(server().port(), way);
    Client first = client_of(*carrier);
    Lock lock = first.lock("a");
    ASSERT_TRUE(lock.try_lock_for(patience));
    EXPECT_EQ(carrier->place(), "redis.mesh.invalid:1");
    Party second(client_of(*carrier), "a");
    std::future<Token> waiting = second.start();
    ASSERT_TRUE(come_to_wait("a"));
    EXPECT_EQ(lock.release(), Released::released);
    ASSERT_TRUE(comes(waiting, 1s)) << "by a push through an inbox of its own";
    EXPECT_EQ(second.release(), Released::released);
    EXPECT_EQ(carrier->calls(), 4) << "two for each client";
  }
}

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
    Lock lock = mine.lock("a");
    ASSERT_TRUE(lock.try_lock_for(patience));
    EXPECT_EQ(lock.release(), Released::released);
    Client other = client_of(*carrier, "rediss://redis.mesh.invalid" + with);
    const Failure failure = failure_of([&] { other.check(10s); });
    EXPECT_EQ(failure.code, Errc::denied) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr("ostname mismatch"));
  }
}

TEST_F(RedisConnector, IsCalledAgainAfterEachBreak) {
  Proxy way(server().port());
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

TEST_F(RedisConnector, WhatItFailsWithIsSaid) {
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
    EXPECT_THAT(failure.text, HasSubstr("redis.mesh.invalid:1"));
    carrier->set(Mood::well);
    EXPECT_FALSE(failure_of([&] { mine.check(patience); })) << "it goes on trying";
  }
}

TEST_F(RedisConnector, OneThatHangsHoldsNobodyUp) {
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
  const Failure failure = failure_of([&] { mine.check(3s); });
  EXPECT_EQ(failure.code, Errc::unavailable);
  EXPECT_THAT(failure.text, HasSubstr("connector gives no connection in time"));
  EXPECT_EQ(carrier->calls(), 1) << "it is not called once more while it hangs";
  carrier->set(Mood::well);
  EXPECT_FALSE(failure_of([&] { mine.check(patience); }));
  // And nobody waits for one at the end.
  carrier->set(Mood::hangs);
  auto other = std::make_unique<Client>(client_of(*carrier));
  EXPECT_TRUE(failure_of([&] { other->check(50ms); }));
  EXPECT_LT(own_duration_of([&] { other.reset(); }), 1s);
  carrier->set(Mood::throws);
}

TEST_F(RedisConnector, ASlowOneIsWaitedForAsLongAsTheCallSays) {
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
TEST_F(RedisConnector, OneConnectionIsNotTakenTwice) {
  const auto carrier = Carrier::to(server().port());
  carrier->set(Mood::same);
  {
    Client mine = client_of(*carrier);
    Lock lock = mine.lock("a");
    ASSERT_TRUE(lock.try_lock_for(patience));
    Client other = client_of(*carrier);
    const Failure failure = told(other, "in use already");
    EXPECT_EQ(failure.code, Errc::unavailable);
    EXPECT_EQ(lock.release(), Released::released);
  }
}

TEST_F(RedisConnector, TheClientMayEndInsideIt) {
  const auto carrier = Carrier::to(server().port());
  std::unique_ptr<Client> mine;
  std::atomic<bool> ended{false};
  mine = std::make_unique<Client>(redis::backend(url, [&](const std::string&, std::uint16_t) {
    mine->close();
    ended.store(true);
    return -1;
  }));
  EXPECT_EQ(failure_of([&] { mine->check(patience); }).code, Errc::closed);
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
}

TEST_F(RedisConnector, NoDescriptorIsLeftWhateverItDoes) {
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

TEST_F(RedisConnector, AClosedClientTakesNoneAnyMore) {
  const auto carrier = Carrier::to(server().port());
  carrier->set(Mood::hangs);
  Client mine = client_of(*carrier);
  std::thread caller([&] {
    EXPECT_EQ(failure_of([&] { mine.check(patience); }).code, Errc::closed) << "at once";
  });
  EXPECT_TRUE(eventually([&] { return carrier->calls() == 1; }));
  EXPECT_LT(own_duration_of([&] { mine.close(); }), 1s);
  caller.join();
  const auto then = test::descriptors();  // a closed client has some of its own
  carrier->set(Mood::well);
  EXPECT_TRUE(eventually([&] { return carrier->given() == 1; }));
  EXPECT_TRUE(eventually([&] { return test::descriptors() <= then; }))
      << then << " became " << test::descriptors();
}

TEST_F(RedisConnector, WaitsForReplicasByAThirdConnection) {
  const auto carrier = Carrier::to(server().port());
  Client mine = client_of(*carrier, std::string(url) + "?replicas=1");
  Lock lock = mine.lock("a");
  // There is none.
  EXPECT_TRUE(failure_of([&] { static_cast<void>(lock.try_lock_for(300ms)); }));
  EXPECT_EQ(carrier->place(), "redis.mesh.invalid:1");
  EXPECT_GE(carrier->calls(), 2);
}

TEST_F(RedisConnector, AnEmptyOneIsRefusedAndOneForACluster) {
  EXPECT_EQ(failure_of([&] { static_cast<void>(redis::backend(url, Connector())); }).code,
            Errc::misconfigured);
  const auto carrier = Carrier::to(1);
  for (const char* const of_several : {"redis+cluster://a", "redis+sentinel://a/master"}) {
    EXPECT_EQ(failure_of([&] {
                static_cast<void>(redis::backend(of_several, carrier->connector()));
              }).code,
              Errc::unsupported);
  }
}

TEST_F(RedisConnector, AForkedChildLeavesTheConnectionAlone) {
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
