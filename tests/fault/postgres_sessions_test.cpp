// SPDX-License-Identifier: MIT
// Goal: sessions that the server ends, answers that are lost with them and a host that vanishes
// cost time and never a lock (S5, L1, L7, L8). Method: pg_terminate_backend, connections that are
// half open, a stopped process.
#include "fault/postgres_fixture.hpp"
#include "model/process.hpp"
#include "support/contract_process.hpp"

#include <array>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace mortise::fault {
namespace {

class PostgresSessions : public PostgresTest {};
class PostgresSessionsLong : public PostgresSessions {};

TEST_F(PostgresSessions, AReleaseWakesAWaiterLongBeforeHeAsksAgain) {
  constexpr int rounds = 5;
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  Party waiter(client(), "a");
  int quick = 0;
  for (int round = 0; round < rounds; ++round) {
    ASSERT_TRUE(lock.try_lock_for(patience));
    auto served = waiter.start();
    ASSERT_TRUE(waiter.worker().falls_asleep());
    ASSERT_TRUE(comes_to_wait("a"));
    const auto took = duration_of([&] {
      EXPECT_EQ(lock.release(), Released::released);
      ASSERT_TRUE(comes(served));
    });
    quick += took < 250ms ? 1 : 0;
    EXPECT_EQ(waiter.release(), Released::released);
  }
  // By its own re-check, once a second, one in four would come so soon.
  EXPECT_GE(quick, rounds - 1);
}

// The second name is freed while those who wait for the first one are being told: a request that
// is made when the answer to that comes.
TEST_F(PostgresSessions, AClientThatClosesTellsWhoWaitsForEachOfItsNames) {
  constexpr int rounds = 5;
  const std::array<std::string, 3> names{"a", "b", "c"};
  std::vector<std::unique_ptr<Party>> waiters;
  for (const std::string& name : names) waiters.push_back(std::make_unique<Party>(client(), name));
  int quick = 0;
  for (int round = 0; round < rounds; ++round) {
    Client closing = client();
    std::vector<std::future<Token>> served;
    for (const std::string& name : names)
      ASSERT_TRUE(closing.make_lock(name).try_lock_for(patience));
    for (std::size_t i = 0; i < names.size(); ++i) {
      served.push_back(waiters.at(i)->start());
      ASSERT_TRUE(waiters.at(i)->worker().falls_asleep());
      ASSERT_TRUE(comes_to_wait(names.at(i)));
    }
    const auto took = duration_of([&] {
      closing.close();
      for (const auto& each : served) ASSERT_TRUE(comes(each));
    });
    quick += took < 250ms ? 1 : 0;
    for (const auto& waiter : waiters) EXPECT_EQ(waiter->release(), Released::released);
  }
  // By their own re-check, once a second, they would hardly ever all come so soon.
  EXPECT_GE(quick, rounds - 1);
}

// One statement at a time: what tells waits for the answer to a question, and leaves before its
// client goes.
TEST_F(PostgresSessions, AClientThatClosesTellsWhoWaitsBehindAQuestion) {
  Proxy proxy(server().port());
  Client closing(PostgresServer::url_by(proxy.port()) +
                 "?mortise.pooled=yes&mortise.connections=1");
  const Owner owner = Owner::unique();
  Lock lock = closing.make_lock("a", {.lease = 20s});
  const Lock question = closing.make_lock("question");
  ASSERT_TRUE(lock.acquire({.owner = owner}));
  PostgresTalk waiter = server().user();
  waiter.run("listen mortise");
  EXPECT_THAT(waiter.value("select mortise.take('a', '\\x99', 1000000, '', 1, '', 'infinity')"),
              ::testing::StartsWith("Q "));
  proxy.delay(200ms, 200ms, Proxy::Direction::to_client);
  std::array<Worker, 3> threads;
  const auto ask = [&question] {
    std::error_code closed;
    static_cast<void>(question.holder(closed));
  };
  const auto first = threads[0].start(ask);
  ASSERT_TRUE(threads[0].falls_asleep());
  auto released = threads[1].start([&] { return lock.release(owner); });
  ASSERT_TRUE(threads[1].falls_asleep());
  const auto second = threads[2].start(ask);
  EXPECT_EQ(released.get(), Released::released);
  closing.close();
  EXPECT_EQ(waiter.notification(patience), "61");
}

TEST_F(PostgresSessions, AWaiterWhoseListenerIsEndedIsServedByTheNextOne) {
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(comes_to_wait("a"));
  ASSERT_GT(terminate_all(), 0U);
  EXPECT_EQ(lock.release(), Released::released);
  // At once, or after a fallback period where it was without a listener at that moment.
  EXPECT_TRUE(comes(served, 2s + slack));
  EXPECT_EQ(waiter.release(), Released::released);
  EXPECT_FALSE(is_held("a"));
}

// Somebody in between holds both sides of its connection, and forwards nothing: it looks like one
// to which nothing has come.
TEST_F(PostgresSessionsLong, AListenerThatIsForgottenOnTheWayIsReplaced) {
  Proxy proxy(server().port(), {.protocol = test::ProxyProtocol::postgres});
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Party waiter(Client(PostgresServer::url_by(proxy.port())), "a");
  auto served = waiter.start();
  ASSERT_TRUE(comes_to_wait("a"));
  ASSERT_TRUE(eventually([&] { return proxy.freeze(true, Proxy::Connections::inboxes) == 1; }));
  // Of the one that is frozen nobody learns that it was closed.
  EXPECT_TRUE(eventually([&] { return proxy.connections(Proxy::Connections::inboxes) == 2; }))
      << "it is never replaced";
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(comes(served));
  EXPECT_EQ(waiter.release(), Released::released);
}

TEST_F(PostgresSessions, AHoldOutlivesTheEndOfEverySession) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.make_lock("a", {.lease = 1500ms});
  lock.lock();
  const Token token = lock.token();
  for (int round = 0; round < 3; ++round) {
    terminate_all();
    const std::size_t before = record->count(Record::Kind::renewed);
    EXPECT_TRUE(record->told(Record::Kind::renewed, before + 1));
  }
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_GT(lock.valid_for(), 0ns);
  EXPECT_EQ(lock.token(), token);
  EXPECT_FALSE(client().make_lock("a").try_lock());
  EXPECT_EQ(lock.release(), Released::released);
}

// Promise: S5
TEST_F(PostgresSessions, AReleaseWhoseAnswerIsLostWithItsSessionIsStillReported) {
  Proxy proxy(server().port());
  Party holder(Client(PostgresServer::url_by(proxy.port())), "a", {.lease = 20s});
  ASSERT_TRUE(comes(holder.start()));
  proxy.delay(10s, 10s, Proxy::Direction::to_client);
  auto released = holder.worker().start([&] { return holder.lock().release(); });
  ASSERT_TRUE(eventually([&] { return !is_held("a"); }));
  // The backend asks once more, behind the back of the library, which would know that a second
  // request finds nothing: the server has to say who freed it.
  proxy.cut_all();
  proxy.delay(0ns, 0ns);
  ASSERT_TRUE(comes(released));
  EXPECT_EQ(released.get(), Released::released);
}

// The answer that was lost said that somebody waits.
TEST_F(PostgresSessions, AReleaseWhoseAnswerIsLostHasThoseToldWhoWait) {
  Proxy proxy(server().port());
  Party holder(Client(PostgresServer::url_by(proxy.port())), "a", {.lease = 20s});
  ASSERT_TRUE(comes(holder.start()));
  PostgresTalk waiter = server().user();
  waiter.run("listen mortise");
  EXPECT_THAT(waiter.value("select mortise.take('a', '\\x99', 1000000, '', 1, '', 'infinity')"),
              ::testing::StartsWith("Q "));
  proxy.delay(10s, 10s, Proxy::Direction::to_client);
  auto released = holder.worker().start([&] { return holder.lock().release(); });
  ASSERT_TRUE(eventually([&] { return !is_held("a"); }));
  proxy.cut_all();
  proxy.delay(0ns, 0ns);
  ASSERT_TRUE(comes(released));
  EXPECT_EQ(released.get(), Released::released);
  EXPECT_EQ(waiter.notification(patience), "61");
}

TEST_F(PostgresSessions, ATimeOutOfTheRoleEndsNoIdleSession) {
  server().talk().run("alter role shop set idle_session_timeout = '100ms'");
  PostgresTalk idle = server().user();
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 6s});
  lock.lock();
  // Whoever does not mind it has gone.
  ASSERT_TRUE(
      eventually([&] { return server().log().find("idle-session timeout") != std::string::npos; }));
  const std::string before = see(std::string("select count(*) from (") + sessions + ") as s");
  EXPECT_NE(before, "0");
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(see(std::string("select count(*) from (") + sessions + ") as s"), before);
}

TEST_F(PostgresSessions, AHalfOpenConnectionIsReplacedInsideTheLease) {
  Proxy proxy(server().port(), {.protocol = test::ProxyProtocol::postgres});
  const auto record = std::make_shared<Record>();
  Client mine(PostgresServer::url_by(proxy.port()), {.observer = record});
  Lock lock = mine.make_lock("a", {.lease = 3s});
  lock.lock();
  // Nothing comes through any more, and no side learns of it; new connections are fine.
  ASSERT_GT(proxy.freeze(true), 0U);
  EXPECT_TRUE(record->told(Record::Kind::renewed, 2));
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_FALSE(is_held("a"));
}

// Promise: L1
TEST_F(PostgresSessions, AHostThatVanishesCostsItsLease) {
  const contract::Line line;
  constexpr std::chrono::milliseconds lease{1'000};
  const std::string url = server().url();
  model::Process holder = model::Process::fork_child([&] {
    Client mine(url);
    Lock lock = mine.make_lock("a", {.lease = lease});
    lock.lock();
    line.tell('h');
    static_cast<void>(contract::Line().hear(5min));
    return 0;
  });
  ASSERT_EQ(line.hear(patience), 'h');
  // Its sessions stand at the server, as those of a host without power do.
  ASSERT_TRUE(holder.stop());
  Client mine = client();
  Lock lock = mine.make_lock("a");
  EXPECT_TRUE(taken_within(lock, lease + 1s));
  EXPECT_EQ(lock.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
