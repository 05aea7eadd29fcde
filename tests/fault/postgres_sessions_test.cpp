// SPDX-License-Identifier: MIT
// Goal: sessions that the server ends, clients that it does not answer and a host that vanishes
// cost time and never a lock (S1, S2, L1, L3, L7, L8). Method: pg_terminate_backend at random,
// SIGSTOP of the server, connections that are half open, under threads that work.
#include "base/random_id.hpp"
#include "fault/postgres_fixture.hpp"
#include "model/process.hpp"
#include "model/seed.hpp"
#include "support/contract_process.hpp"

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace mortise::fault {
namespace {

class PostgresSessions : public PostgresTest {
 protected:
  /// Two clients with two threads each take one name in turn, while their sessions are ended.
  void terminate_during(int cycles) {
    // Each turn is short, so that the server hears of most cycles.
    const ClientOptions options{.turn_handoffs = 2};
    std::array<Client, 2> clients{client(options), client(options)};
    base::SplitMix random(model::test_seed());
    std::atomic<int> left{cycles};
    std::atomic<int> running{4};
    // Guarded by the lock; atomic, so that an overlap is a failure and not undefined.
    std::atomic<int> inside{0};
    std::atomic<std::uint64_t> last{0};
    std::array<std::vector<std::string>, 4> faults;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        Lock lock = clients.at(i % 2).lock("a", {.lease = 6s});
        while (left.fetch_sub(1) > 0) {
          std::error_code error;
          const Guard guard(lock, {.wait = 10s}, error);
          if (!guard) {
            left.fetch_add(1);
            if (!is_retryable(error)) faults.at(i).push_back(guard.error_text());
            continue;
          }
          if (inside.fetch_add(1) != 0) faults.at(i).push_back("two hold the lock");
          if (last.exchange(guard.token().value()) >= guard.token().value()) {
            faults.at(i).push_back("a token did not grow");
          }
          if (guard.lost().stop_requested()) faults.at(i).push_back("a hold was lost");
          inside.fetch_sub(1);
        }
        running.fetch_sub(1);
      });
    }
    PostgresTalk talk = server().talk();
    int ended = 0;
    for (int seen = cycles; running.load() > 0;) {
      // About every fortieth cycle, one of them or all.
      if (!eventually([&] { return left.load() < seen - 40 || running.load() == 0; })) break;
      seen = left.load();
      const bool all = random.next() % 4 == 0;
      ended += static_cast<int>(talk.rows(std::string("select pg_terminate_backend(pid) from (") +
                                          sessions + " order by random() limit " +
                                          (all ? "100" : "1") + ") as some_of_them")
                                    .size());
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& of_thread : faults) EXPECT_THAT(of_thread, IsEmpty());
    EXPECT_GT(ended, cycles / 200);
    // What was in doubt has been given back behind the callers, or was never there.
    EXPECT_TRUE(eventually([&] { return !is_held("a"); }, 4s));
    for (Client& one : clients) {
      Lock lock = one.lock("a");
      EXPECT_TRUE(lock.try_lock_for(2s));
      lock.unlock();
    }
    EXPECT_FALSE(is_held("a"));
  }
};
class PostgresSessionsLong : public PostgresSessions {};

// Promise: L7
TEST_F(PostgresSessions, EndedAtRandomDuringTwoThousandCyclesTheyCostNoLock) {
  terminate_during(2'000);
}
TEST_F(PostgresSessionsLong, EndedAtRandomTheyCostNoLock) { terminate_during(30'000); }

TEST_F(PostgresSessions, AReleaseWakesAWaiterLongBeforeHeAsksAgain) {
  constexpr int rounds = 5;
  Client theirs = client();
  Lock lock = theirs.lock("a");
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
    for (const std::string& name : names) ASSERT_TRUE(closing.lock(name).try_lock_for(patience));
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
  Lock lock = closing.lock("a", {.lease = 20s});
  const Lock question = closing.lock("question");
  ASSERT_TRUE(lock.acquire({.owner = owner}));
  PostgresTalk waiter = server().user();
  waiter.run("listen mortise");
  EXPECT_THAT(waiter.value("select mortise.take_apart('a', '\\x99', 1000000, '', 16 + 1)"),
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
  Lock lock = theirs.lock("a");
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

TEST_F(PostgresSessions, AHoldOutlivesTheEndOfEverySession) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.lock("a", {.lease = 1500ms});
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
  EXPECT_FALSE(client().lock("a").try_lock());
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
  EXPECT_THAT(waiter.value("select mortise.take_apart('a', '\\x99', 1000000, '', 16 + 1)"),
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
  Lock lock = mine.lock("a", {.lease = 6s});
  lock.lock();
  // Whoever does not mind it has gone.
  ASSERT_TRUE(
      eventually([&] { return server().log().find("idle-session timeout") != std::string::npos; }));
  const std::string before = see(std::string("select count(*) from (") + sessions + ") as s");
  EXPECT_NE(before, "0");
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(see(std::string("select count(*) from (") + sessions + ") as s"), before);
}

TEST_F(PostgresSessions, AServerThatStandsStillCostsTimeAndNothingElse) {
  Client mine = client();
  Lock held = mine.lock("held", {.lease = 20s});
  held.lock();
  Lock lock = mine.lock("a", {.lease = 6s});
  server().stop();
  std::error_code error;
  EXPECT_LT(own_duration_of([&] { EXPECT_FALSE(lock.try_lock(error)); }), 1s + allowance + slack);
  EXPECT_TRUE(is_retryable(error)) << error.message();
  for (int i = 0; i < 3; ++i) {
    EXPECT_LT(own_duration_of([&] { EXPECT_FALSE(lock.try_lock_for(100ms, error)); }),
              100ms + allowance + slack);
    EXPECT_TRUE(is_retryable(error)) << error.message();
  }
  Released outcome{};
  EXPECT_LT(own_duration_of([&] { outcome = held.release(); }), 1s + slack);
  EXPECT_EQ(outcome, Released::unknown);
  server().resume();
  EXPECT_TRUE(lock.try_lock_for(4s));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(eventually([&] { return !is_held("held"); }, 4s)) << "the release was forgotten";
  EXPECT_FALSE(is_held("a"));
}

// Promise: L4
TEST_F(PostgresSessions, ClosingIsBoundedWhenTheServerStandsStill) {
  std::optional<Client> mine = client();
  Lock lock = mine->lock("a");
  lock.lock();
  server().stop();
  EXPECT_LT(own_duration_of([&] { mine.reset(); }), 2s + slack);
  server().resume();
}

TEST_F(PostgresSessions, AHalfOpenConnectionIsReplacedInsideTheLease) {
  Proxy proxy(server().port(), {.protocol = test::ProxyProtocol::postgres});
  const auto record = std::make_shared<Record>();
  Client mine(PostgresServer::url_by(proxy.port()), {.observer = record});
  Lock lock = mine.lock("a", {.lease = 3s});
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
    Lock lock = mine.lock("a", {.lease = lease});
    lock.lock();
    line.tell('h');
    static_cast<void>(contract::Line().hear(5min));
    return 0;
  });
  ASSERT_EQ(line.hear(patience), 'h');
  // Its sessions stand at the server, as those of a host without power do.
  ASSERT_TRUE(holder.stop());
  Client mine = client();
  Lock lock = mine.lock("a");
  EXPECT_TRUE(lock.try_lock_for(lease + 1s));
  EXPECT_EQ(lock.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
