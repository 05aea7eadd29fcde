// SPDX-License-Identifier: MIT
// Goal: over connections that the program makes itself a store is what it is over the library's
// own, and a connector that misbehaves holds nobody up. Method: connectors of every mood in front
// of real servers, the same for each store.
#include "fault/postgres_fixture.hpp"
#include "fault/redis_fixture.hpp"
#include "support/carrier.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace mortise::fault {
namespace {

using test::Carrier;
using test::told;
using Mood = Carrier::Mood;
using Way = Carrier::Way;

// The hosts are such that no name server knows: nobody looks them up.
class OnRedis : public RedisTest {
 protected:
  static constexpr const char* place = "store.mesh.invalid:6379";
  static constexpr auto protocol = test::ProxyProtocol::redis;
  [[nodiscard]] static std::unique_ptr<Backend> backend(Connector connector) {
    return redis::backend("redis://store.mesh.invalid", std::move(connector));
  }
};

class OnPostgres : public PostgresTest {
 protected:
  static constexpr const char* place = "store.mesh.invalid:5432";
  static constexpr auto protocol = test::ProxyProtocol::postgres;
  [[nodiscard]] static std::unique_ptr<Backend> backend(Connector connector) {
    std::string url = PostgresServer::url_by(5432);
    const std::string number = "127.0.0.1:5432";
    url.replace(url.find(number), number.size(), "store.mesh.invalid");
    return postgres::backend(url, std::move(connector));
  }
  [[nodiscard]] bool come_to_wait(const std::string& name) { return comes_to_wait(name); }
};

template <class Store>
class ConnectorOf : public Store {
 protected:
  [[nodiscard]] std::shared_ptr<Carrier> carrier(Way way = Way::socket) {
    return Carrier::to(this->server().port(), way);
  }
  [[nodiscard]] static Client client_of(Carrier& carrier) {
    return Client(Store::backend(carrier.connector()));
  }
};

struct NameOfStore {
  template <class Store>
  static std::string GetName(int) {
    return std::is_same_v<Store, OnRedis> ? "Redis" : "Postgres";
  }
};
using Stores = ::testing::Types<OnRedis, OnPostgres>;
TYPED_TEST_SUITE(ConnectorOf, Stores, NameOfStore);

TYPED_TEST(ConnectorOf, LocksAreTakenAndHandedOverThroughIt) {
  for (const Way way : {Way::socket, Way::pair}) {
    const auto carrier = this->carrier(way);
    Client first = this->client_of(*carrier);
    Lock lock = first.make_lock("a");
    ASSERT_TRUE(lock.try_lock_for(patience));
    EXPECT_EQ(carrier->place(), TestFixture::place);
    EXPECT_LE(carrier->calls(), 2);
    Party second(this->client_of(*carrier), "a");
    std::future<Token> waiting = second.start();
    ASSERT_TRUE(this->come_to_wait("a"));
    EXPECT_EQ(lock.release(), Released::released);
    ASSERT_TRUE(comes(waiting, 1s)) << "by a push through a connection of its own";
    EXPECT_EQ(second.release(), Released::released);
    EXPECT_EQ(carrier->calls(), carrier->given()) << "each is used";
  }
}

TYPED_TEST(ConnectorOf, IsCalledAgainAfterEachBreak) {
  Proxy way(this->server().port(), {.protocol = TestFixture::protocol});
  const auto carrier = Carrier::to(way.port());
  Client mine = this->client_of(*carrier);
  Lock lock = mine.make_lock("a");
  ASSERT_TRUE(lock.try_lock_for(patience));
  for (int i = 0; i < 3; ++i) {
    const int before = carrier->calls();
    EXPECT_GE(way.cut_all(), 1U);
    mine.check(patience);
    EXPECT_GT(carrier->calls(), before);
  }
  EXPECT_EQ(lock.release(), Released::released);
}

TYPED_TEST(ConnectorOf, WhatItFailsWithIsSaidAndNoDescriptorIsLeft) {
  const auto carrier = this->carrier();
  const auto before = test::descriptors();
  for (const auto& [mood, words] : {std::pair{Mood::throws, "the tunnel is shut"},
                                    {Mood::nothing, "no descriptor"},
                                    {Mood::closed, "not a socket"},
                                    {Mood::listening, "not connected"},
                                    {Mood::datagram, "not a stream socket"},
                                    {Mood::hung_up, TestFixture::place},
                                    {Mood::shut, TestFixture::place},
                                    {Mood::spoken_to, TestFixture::place}}) {
    carrier->set(mood);
    Client mine = this->client_of(*carrier);
    const Failure failure = told(mine, words);
    EXPECT_THAT(failure.code, AnyOf(Errc::unavailable, Errc::protocol)) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr(TestFixture::place));
    EXPECT_THAT(failure.text, Not(HasSubstr("127.0.0.1"))) << "nobody has asked for that one";
    carrier->set(Mood::well);
    EXPECT_FALSE(failure_of([&] { mine.check(patience); })) << "it goes on trying";
  }
  for (const Mood mood : {Mood::slow, Mood::hangs, Mood::well}) {
    carrier->set(mood);
    Client mine = this->client_of(*carrier);
    static_cast<void>(failure_of([&] { mine.check(50ms); }));
  }
  EXPECT_TRUE(eventually([&] { return test::descriptors() == before; }))
      << before << " became " << test::descriptors();
}

TYPED_TEST(ConnectorOf, OneThatHangsHoldsNobodyUp) {
  const auto carrier = this->carrier();
  carrier->set(Mood::hangs);
  Client mine = this->client_of(*carrier);
  Lock lock = mine.make_lock("a");
  const auto limit = 100ms + allowance + slack;
  EXPECT_LT(
      least_duration_of(
          limit,
          [&] { EXPECT_TRUE(failure_of([&] { static_cast<void>(lock.try_lock_for(100ms)); })); }),
      limit);
  EXPECT_EQ(carrier->calls(), 1) << "it is not called once more while it hangs";
  carrier->set(Mood::well);
  EXPECT_FALSE(failure_of([&] { mine.check(patience); }));
}

TYPED_TEST(ConnectorOf, AClosedClientTakesNoneAnyMore) {
  const auto carrier = this->carrier();
  carrier->set(Mood::hangs);
  Client mine = this->client_of(*carrier);
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

TYPED_TEST(ConnectorOf, ASlowOneIsWaitedForAsLongAsTheCallSays) {
  const auto carrier = this->carrier();
  carrier->set(Mood::slow);
  Client mine = this->client_of(*carrier);
  Lock lock = mine.make_lock("a");
  EXPECT_EQ(failure_of([&] { static_cast<void>(lock.try_lock_for(100ms)); }).code,
            Errc::unavailable);
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
}

// Two that read one stream would take each other's answers for their own.
TYPED_TEST(ConnectorOf, OneConnectionIsNotTakenTwice) {
  for (const Mood mood : {Mood::same, Mood::copies}) {
    const auto carrier = this->carrier();
    carrier->set(mood);
    Client mine = this->client_of(*carrier);
    Lock lock = mine.make_lock("a");
    ASSERT_TRUE(lock.try_lock_for(patience));
    Client other = this->client_of(*carrier);
    const Failure failure = told(other, "the connector");
    EXPECT_EQ(failure.code, Errc::unavailable);
    EXPECT_EQ(lock.release(), Released::released);
  }
}

TYPED_TEST(ConnectorOf, TheClientMayEndInsideIt) {
  std::unique_ptr<Client> mine;
  std::atomic<bool> ended{false};
  mine = std::make_unique<Client>(this->backend([&](const std::string&, std::uint16_t) {
    mine->close();
    ended.store(true);
    return -1;
  }));
  EXPECT_EQ(failure_of([&] { mine->check(patience); }).code, Errc::closed);
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
}

TYPED_TEST(ConnectorOf, AnEmptyOneIsRefused) {
  EXPECT_EQ(failure_of([&] { static_cast<void>(this->backend(Connector())); }).code,
            Errc::misconfigured);
}

TYPED_TEST(ConnectorOf, AForkedChildLeavesTheConnectionAlone) {
  const auto carrier = this->carrier();
  Client mine = this->client_of(*carrier);
  Lock lock = mine.make_lock("a");
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
