// SPDX-License-Identifier: MIT
// Goal: connections that the server cuts, clients that it pauses or keeps waiting cost time and
// never a lock (S1, S2, L3, L7). Method: CLIENT KILL at random, CLIENT PAUSE, SIGSTOP of the
// server, and a script without end, under threads that work.
#include "base/random_id.hpp"
#include "fault/redis_fixture.hpp"
#include "model/seed.hpp"

#include <array>
#include <atomic>
#include <thread>

namespace mortise::fault {
namespace {

class RedisConnections : public RedisTest {
 protected:
  /// Two clients with two threads each take one name in turn, while connections are killed.
  void kill_during(int cycles) {
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
    RedisTalk talk = server().talk();
    int kills = 0;
    for (int seen = cycles; running.load() > 0;) {
      // About every twentieth cycle.
      if (!eventually([&] { return left.load() < seen - 20 || running.load() == 0; })) break;
      seen = left.load();
      const char* const types[] = {"normal", "pubsub"};
      const std::uint64_t dice = random.next() % 3;
      for (std::size_t type = 0; type < 2; ++type) {
        if (dice == type || dice == 2) {
          talk.expect_ok({"CLIENT", "KILL", "TYPE", types[type], "SKIPME", "yes"});
          ++kills;
        }
      }
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& of_thread : faults) EXPECT_THAT(of_thread, IsEmpty());
    EXPECT_GT(kills, cycles / 100);
    EXPECT_TRUE(eventually([&] { return !is_held("a") && waiting("a") == 0; }, 4s));
    for (Client& one : clients) {
      Lock lock = one.lock("a");
      EXPECT_TRUE(lock.try_lock_for(2s));
      lock.unlock();
    }
    expect_free("a");
  }
};
class RedisConnectionsLong : public RedisConnections {};

// Promise: L7
TEST_F(RedisConnections, KilledAtRandomTheyCostNoLock) { kill_during(600); }
TEST_F(RedisConnectionsLong, KilledAtRandomTheyCostNoLock) { kill_during(10'000); }

TEST_F(RedisConnections, AWaiterWhoseInboxIsKilledIsServedByTheNextOne) {
  Client theirs = client();
  Lock lock = theirs.lock("a");
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  RedisTalk talk = server().talk();
  talk.expect_ok({"CLIENT", "KILL", "TYPE", "pubsub"});
  // At once, or after a fallback period where it was without an inbox at that moment.
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(comes(served, 1s + slack));
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

// Promise: L8
TEST_F(RedisConnections, AHoldOutlivesAPauseOfTheServer) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.lock("a", {.lease = 6s});
  lock.lock();
  server().talk().expect_ok({"CLIENT", "PAUSE", "1500", "ALL"});
  // The first renewal was due at 2 s, and a command time-out is 1 s: nothing is lost.
  EXPECT_TRUE(record->told(Record::Kind::renewed, 1));
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_GT(lock.valid_for(), 4s);
  EXPECT_EQ(lock.release(), Released::released);
}

// Promise: L3
TEST_F(RedisConnections, ATimedCallKeepsItsTimeInAPauseAndLeavesNothing) {
  Client mine = client();
  mine.check(patience);
  Lock lock = mine.lock("a", {.lease = 6s});
  server().talk().expect_ok({"CLIENT", "PAUSE", "1500", "ALL"});
  std::error_code error;
  EXPECT_LT(own_duration_of([&] { EXPECT_FALSE(lock.try_lock_for(300ms, error)); }),
            300ms + allowance + slack);
  EXPECT_EQ(error, Errc::in_doubt) << error.message();
  // It is undone behind the caller, long before its lease ends.
  EXPECT_TRUE(lock.try_lock_for(4s));
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

TEST_F(RedisConnections, AServerThatStandsStillCostsTimeAndNothingElse) {
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
  expect_free("a");
  expect_free("held");
}

// Promise: L4
TEST_F(RedisConnections, ClosingIsBoundedWhenTheServerStandsStill) {
  std::optional<Client> mine = client();
  Lock lock = mine->lock("a");
  lock.lock();
  server().stop();
  EXPECT_LT(own_duration_of([&] { mine.reset(); }), 2s + slack);
  server().resume();
}

TEST_F(RedisConnections, ABusyScriptIsUnavailableInItsWordsAndItPasses) {
  server().talk().expect_ok({"CONFIG", "SET", "lua-time-limit", "50"});
  Client mine = client();
  mine.check(patience);
  Lock lock = mine.lock("a", {.lease = 6s});
  RedisTalk runs = server().talk();
  runs.send({"EVAL", "while true do end", "0"});
  Failure failure;
  EXPECT_TRUE(eventually([&] {
    EXPECT_LT(
        duration_of([&] { failure = failure_of([&] { EXPECT_FALSE(lock.try_lock_for(300ms)); }); }),
        300ms + allowance + slack);
    return failure.text.find("BUSY") != std::string::npos;
  }));
  EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
  // Nothing but these is let through: the connection of an administrator has to stand already.
  RedisTalk ends(server().port());
  EXPECT_FALSE(ends.command({"SCRIPT", "KILL"}).is_error());
  EXPECT_TRUE(lock.try_lock_for(4s));
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

}  // namespace
}  // namespace mortise::fault
