// SPDX-License-Identifier: MIT
// Goal: a Redis that dies and comes back, with and without its data, costs what the manual says and
// no more. Method: kill -9 and a new start, while a lock is held and while it is waited for.
#include "fault/redis_fixture.hpp"

namespace mortise::fault {
namespace {

class RedisRestart : public RedisTest {
 protected:
  void keep_all() {
    RedisServerOptions options;
    options.persistence = RedisServerOptions::Persistence::always;
    static_cast<void>(server(options));
  }
  void kill_and_start() {
    server().kill();
    server().start();
  }
};

TEST_F(RedisRestart, WithoutPersistenceAHoldIsLostAndItsHolderTold) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.lock("a", {.lease = 1500ms});
  lock.lock();
  const std::stop_token lost = lock.lost();
  kill_and_start();
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }, 1500ms + slack));
  EXPECT_EQ(lock.valid_for(), 0ns);
  EXPECT_TRUE(record->told(Record::Kind::lost, 1));
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_TRUE(lock.try_lock_for(patience));
  lock.unlock();
}

TEST_F(RedisRestart, WithoutPersistenceTheNextTokenIsLarger) {
  Client mine = client();
  Client other = client();
  Lock lock = mine.lock("a", {.lease = 1500ms});
  Lock next = other.lock("a");
  Token last;
  for (int round = 0; round < 3; ++round) {
    const Guard old(lock);
    EXPECT_GT(old.token(), last) << round;
    kill_and_start();
    const Guard guard(next, {.wait = patience});
    ASSERT_TRUE(guard) << guard.error_text();
    EXPECT_GT(guard.token(), old.token()) << round;
    last = guard.token();
  }
}

TEST_F(RedisRestart, WithoutPersistenceAWaiterIsServedAndOnlyHeHolds) {
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 3s});
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  kill_and_start();
  ASSERT_TRUE(comes(served));
  EXPECT_GT(served.get(), lock.token());
  // Its renewal finds the other one; at the latest its own clock tells it.
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, 3s + slack));
  EXPECT_GT(waiter.run([&] { return waiter.lock().valid_for(); }), 0ns);
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

TEST_F(RedisRestart, WithPersistenceAHoldStandsAndIsRenewed) {
  keep_all();
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Client other = client();
  Lock lock = mine.lock("a", {.lease = 3s});
  lock.lock();
  const Token token = lock.token();
  kill_and_start();
  const std::size_t before = record->count(Record::Kind::renewed);
  EXPECT_TRUE(record->told(Record::Kind::renewed, before + 2));
  EXPECT_FALSE(other.lock("a").try_lock());
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_GT(lock.valid_for(), 1s);
  EXPECT_EQ(lock.token(), token);
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(other.lock("a").try_lock_for(patience));
  EXPECT_GT(other.lock("a").token(), token);
  other.lock("a").unlock();
}

TEST_F(RedisRestart, WithPersistenceAWaiterGoesOnWaitingAndIsServedByTheRelease) {
  keep_all();
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 4s});
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  kill_and_start();
  ASSERT_EQ(waiting("a"), 1U) << "the queue did not survive";
  // It has asked again on a new connection, and is not served.
  ASSERT_TRUE(asks_again("a"));
  EXPECT_FALSE(comes(served, 0s));
  EXPECT_GT(lock.valid_for(), 0ns);
  const Token token = lock.token();
  EXPECT_EQ(lock.release(), Released::released);
  ASSERT_TRUE(comes(served));
  EXPECT_GT(served.get(), token);
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

TEST_F(RedisRestart, WithPersistenceAWaiterIsServedAfterTheOldLeaseAndNotBefore) {
  keep_all();
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 1500ms, .renew = false});
  lock.lock();
  const Owner holder = Owner().or_this_thread();
  Party waiter(client(), "a");
  auto left = waiter.worker().start([&] {
    waiter.lock().lock();
    return lock.valid_for(holder);
  });
  ASSERT_TRUE(come_to_wait("a"));
  kill_and_start();
  ASSERT_TRUE(comes(left, 1500ms + 1s));
  EXPECT_EQ(left.get(), 0ns) << "two held the lock";
  EXPECT_EQ(waiter.release(), Released::released);
  lock.unlock();
}

TEST_F(RedisRestart, AServerThatStaysAwayBeyondTheLeaseHasTheHoldLostByTheClock) {
  keep_all();
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 600ms});
  lock.lock();
  server().kill();
  std::chrono::nanoseconds left = lock.valid_for();
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, left + allowance + slack));
  EXPECT_EQ(lock.valid_for(), 0ns);
  server().start();
  lock.unlock();
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(RedisRestart, WhoComesWhileTheServerIsDownIsServedWhenItIsBack) {
  Party early(client(), "a");
  early.client().check(patience);
  server().kill();
  auto served = early.start();
  Party fresh(client(), "b");
  auto also = fresh.start();
  ASSERT_TRUE(early.worker().falls_asleep());
  ASSERT_TRUE(fresh.worker().falls_asleep());
  server().start();
  EXPECT_TRUE(comes(served, 3s));
  EXPECT_TRUE(comes(also, 3s));
  EXPECT_EQ(early.release(), Released::released);
  EXPECT_EQ(fresh.release(), Released::released);
}

TEST_F(RedisRestart, AReleaseWhileTheServerIsDownIsDoneWhenItIsBack) {
  keep_all();
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 20s});
  lock.lock();
  server().kill();
  Released outcome{};
  EXPECT_LT(own_duration_of([&] { outcome = lock.release(); }), 1s + slack);
  EXPECT_EQ(outcome, Released::unknown);
  server().start();
  // Far sooner than by its lease.
  EXPECT_TRUE(eventually([&] { return !is_held("a"); }, 5s));
}

}  // namespace
}  // namespace mortise::fault
