// SPDX-License-Identifier: MIT
// Goal: a Redis that dies and comes back without its data costs what the manual says and no more.
// Method: kill -9 and a new start, while a lock is held and while it is waited for. With its data
// it is one of those of restart_test.cpp.
#include "fault/redis_fixture.hpp"

namespace mortise::fault {
namespace {

class RedisRestart : public RedisTest {
 protected:
  void kill_and_start() {
    server().kill();
    server().start();
  }
};

TEST_F(RedisRestart, WithoutPersistenceAHoldIsLostAndItsHolderTold) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.make_lock("a", {.lease = 1500ms});
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
  Lock lock = mine.make_lock("a", {.lease = 1500ms});
  Lock next = other.make_lock("a");
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
  Lock lock = mine.make_lock("a", {.lease = 3s});
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

}  // namespace
}  // namespace mortise::fault
