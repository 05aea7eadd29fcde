// SPDX-License-Identifier: MIT
// Goal: each vote is that of a server of its own. Method: one server under two addresses, from the
// beginning and later; servers that are restarted, and so are new, and must not be taken for
// others.
#include "fault/redlock_fixture.hpp"

#include <optional>
#include <utility>

namespace mortise::fault {
namespace {

class RedlockIdentity : public RedlockTest {
 protected:
  /// Fails at once, whatever the wait, and names both; from the moment on at which it is connected
  /// to both, since until then each vote is an honest one.
  void expect_twins(Client& mine, const std::string& one, const std::string& other) {
    Lock lock = mine.make_lock("a");
    Failure failure;
    EXPECT_TRUE(eventually(
        [&] {
          failure = failure_of([&] { lock.lock(); });
          if (lock.hold_count() > 0) lock.unlock();
          return failure.code == Errc::misconfigured;
        },
        5s))
        << failure.text;
    EXPECT_THAT(failure.text, HasSubstr(one));
    EXPECT_THAT(failure.text, HasSubstr(other));
    EXPECT_THAT(failure.text, Not(HasSubstr("open-sesame")));
    const Failure checked = failure_of([&] { mine.check(2s); });
    EXPECT_EQ(checked.code, Errc::misconfigured) << checked.text;
    EXPECT_EQ(lock.hold_count(), 0U);
  }
};

TEST_F(RedlockIdentity, OneServerUnderTwoAddressesIsRefusedWithBoth) {
  static_cast<void>(servers(3));
  const Proxy again(servers()[0].port());
  Client mine(test::redlock_url({servers()[0].port(), servers()[1].port(), again.port()}));
  expect_twins(mine, std::to_string(servers()[0].port()), std::to_string(again.port()));
  expect_free("a");
}

TEST_F(RedlockIdentity, AlsoWhereTheOthersAreAMajorityWithoutIt) {
  static_cast<void>(servers(4));
  const Proxy again(servers()[3].port());
  Client mine(test::redlock_url({servers()[0].port(), servers()[1].port(), servers()[2].port(),
                                 servers()[3].port(), again.port()}));
  // By the time of the first lock its connections need not all stand; once they do, it is refused.
  Failure failure;
  EXPECT_TRUE(eventually(
      [&] {
        failure = failure_of([&] {
          Lock lock = mine.make_lock("a");
          if (lock.try_lock_for(1s)) lock.unlock();
        });
        return failure.code == Errc::misconfigured;
      },
      5s))
      << failure.text;
  EXPECT_THAT(failure.text, HasSubstr(std::to_string(servers()[3].port())));
  EXPECT_THAT(failure.text, HasSubstr(std::to_string(again.port())));
}

TEST_F(RedlockIdentity, TwoNamesOfOneAddressAreFoundOut) {
  static_cast<void>(servers(3));
  const std::string port = std::to_string(servers()[0].port());
  Client mine("redlock://127.0.0.1:" + port + ",localhost:" + port +
              ",127.0.0.1:" + std::to_string(servers()[1].port()));
  expect_twins(mine, "127.0.0.1:" + port, "localhost:" + port);
}

TEST_F(RedlockIdentity, OneAddressTwiceIsRefusedAtConstruction) {
  const Failure failure =
      failure_of([] { Client("redlock://127.0.0.1:6379,127.0.0.1:6380,127.0.0.1:6379"); });
  EXPECT_EQ(failure.code, Errc::misconfigured);
  EXPECT_THAT(failure.text, HasSubstr("a server is named twice"));
}

TEST_F(RedlockIdentity, ATwinThatAppearsLaterIsFoundOutToo) {
  static_cast<void>(servers(3));
  Client mine = ready_client();
  const std::uint16_t moved = servers()[2].port();
  kill(2);
  // A fail-over, or a name that points elsewhere now: behind the third address is the second
  // server.
  const Proxy twin(servers()[1].port(), {.port = moved});
  Failure failure;
  EXPECT_TRUE(eventually(
      [&] {
        failure = failure_of([&] {
          Lock lock = mine.make_lock("a");
          if (lock.try_lock_for(1s)) lock.unlock();
        });
        return failure.code == Errc::misconfigured;
      },
      10s))
      << failure.text;
  EXPECT_THAT(failure.text, HasSubstr(std::to_string(moved)));
  EXPECT_THAT(failure.text, HasSubstr(std::to_string(servers()[1].port())));
}

// It voted as long as nobody knew, and what it voted for is over: others must not wait for that.
TEST_F(RedlockIdentity, WhatATwinHasVotedForIsFreedAllTheSame) {
  static_cast<void>(servers(3));
  Client mine = ready_client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  ASSERT_TRUE(eventually([&] { return holds("a") == servers().size(); }));
  const std::uint16_t moved = servers()[2].port();
  kill(2);
  const Proxy twin(servers()[1].port(), {.port = moved});
  EXPECT_TRUE(eventually(
      [&] {
        const Failure failure = failure_of([&] {
          Lock other = mine.make_lock("b");
          if (other.try_lock_for(1s)) other.unlock();
        });
        return failure.code == Errc::misconfigured;
      },
      10s));
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
  expect_free("b");
}

// What it is owed its own server has to hear, and another one does not know of it.
TEST_F(RedlockIdentity, WhatAServerIsOwedIsNotPaidWithAnother) {
  static_cast<void>(servers(3));
  std::optional<Proxy> third(std::in_place, servers()[2].port());
  const std::uint16_t moved = third->port();
  Client mine(test::redlock_url({servers()[0].port(), servers()[1].port(), moved}));
  Lock lock = mine.make_lock("a");
  EXPECT_TRUE(eventually([&] {
    const Guard guard(lock);
    return eventually([&] { return holds("a") == servers().size(); }, 100ms);
  }));
  ASSERT_TRUE(eventually([&] { return holds("a") == 0; }));
  lock.lock();
  ASSERT_TRUE(eventually([&] { return holds("a") == servers().size(); }));
  third.reset();
  EXPECT_EQ(lock.release(), Released::released);
  third.emplace(servers()[1].port(), test::ProxyOptions{.port = moved});
  EXPECT_TRUE(eventually(
      [&] {
        const Failure failure = failure_of([&] {
          Lock other = mine.make_lock("b");
          if (other.try_lock_for(1s)) other.unlock();
        });
        return failure.code == Errc::misconfigured;
      },
      10s));
  EXPECT_EQ(holds("a"), 1U) << words("a");
  third.reset();
  third.emplace(servers()[2].port(), test::ProxyOptions{.port = moved});
  expect_free("a", 5s);
}

// What it was owed has it connected to for as long as it is the wrong server.
TEST_F(RedlockIdentity, ATwinThatIsOwedSomethingIsNotAskedWithoutAPause) {
  static_cast<void>(servers(3));
  Client mine = ready_client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  const std::uint16_t moved = servers()[2].port();
  kill(2);
  EXPECT_EQ(lock.release(), Released::released);
  RedisTalk talk = servers()[1].talk();
  const auto connections = [&] {
    return std::stoull(talk.info("stats").at("total_connections_received"));
  };
  const auto before = connections();
  const Proxy twin(servers()[1].port(), {.port = moved});
  ASSERT_TRUE(eventually([&] { return connections() > before; }, patience));
  EXPECT_FALSE(happens_within([&] { return connections() > before + 30; }, 2s));
}

// It is told what it is owed, and, since it may be any server of before, what the others are owed.
// Promise: L1
TEST_F(RedlockIdentity, AServerThatIsStartedAnewDoesNotAnswerForAnother) {
  RedisServerOptions each;
  each.persistence = RedisServerOptions::Persistence::always;
  static_cast<void>(servers(3, each));
  proxied();
  Party taker(ready_client(), "a", {.lease = 20s});
  // All of them vote, and none of the answers comes.
  for (std::size_t i = 0; i < 3; ++i) {
    servers().proxy(i).delay(300ms, 300ms, Proxy::Direction::to_client);
  }
  auto taken = taker.start();
  ASSERT_TRUE(eventually([&] { return holds("a") == 3; }));
  for (std::size_t i = 0; i < 3; ++i) {
    servers().proxy(i).refuse(true);
    servers().proxy(i).cut_all(Proxy::Connections::commands);
    servers().proxy(i).delay(0ns, 0ns);
  }
  servers()[1].restart();
  ASSERT_EQ(holds("a"), 3U) << "its vote was not written down";
  servers().proxy(1).refuse(false);
  servers().proxy(0).refuse(false);
  ASSERT_TRUE(comes(taken));
  EXPECT_EQ(taker.release(), Released::released);
  ASSERT_TRUE(is_held(2, "a")) << "it was told meanwhile";
  servers().proxy(2).refuse(false);
  expect_free("a", 5s);
}

TEST_F(RedlockIdentity, ServersThatAreRestartedAreNoStrangers) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 3s});
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < servers().size(); ++i) {
      servers()[i].restart();
      ASSERT_TRUE(lock.try_lock_for(patience)) << i;
      EXPECT_EQ(lock.release(), Released::released) << i;
    }
  }
  expect_free("a");
}

}  // namespace
}  // namespace mortise::fault
