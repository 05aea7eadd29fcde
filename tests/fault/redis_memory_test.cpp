// SPDX-License-Identifier: MIT
// Goal: a server without memory, or one that may not publish, refuses new locks and loses nothing
// of the old ones. Method: maxmemory 1 in each state of a lock; users without rights on channels.
#include "fault/redis_script.hpp"

namespace mortise::fault {
namespace {

class RedisMemory : public RedisScriptTest {
 protected:
  void full(bool on) { server().talk().expect_ok({"CONFIG", "SET", "maxmemory", on ? "1" : "0"}); }
};

TEST_F(RedisMemory, WithoutMemoryNobodyTakesALock) {
  Client mine = client();
  mine.check(patience);
  full(true);
  Lock lock = mine.make_lock("a");
  for (const auto wait : {0ms, 400ms}) {
    const Failure failure =
        failure_of([&] { EXPECT_FALSE(lock.try_lock_for(wait)) << "it was granted"; });
    EXPECT_EQ(failure.code, Errc::exhausted) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr("OOM"));
  }
  std::error_code error;
  mine.check(300ms, error);
  EXPECT_EQ(error, Errc::exhausted);
  full(false);
  EXPECT_NO_THROW(mine.check(patience));
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

TEST_F(RedisMemory, WithoutMemoryAHoldIsRenewedAndReleased) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.make_lock("a", {.lease = 900ms});
  lock.lock();
  full(true);
  const std::size_t before = record->count(Record::Kind::renewed);
  EXPECT_TRUE(record->told(Record::Kind::renewed, before + 4));
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_FALSE(is_held("a"));
  EXPECT_EQ(record->count(Record::Kind::failed), 0U);
}

TEST_F(RedisMemory, WithoutMemoryALockIsHandedToItsWaiters) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  Party first(client(), "a");
  auto one = first.start();
  ASSERT_TRUE(come_to_wait("a", 1));
  Party second(client(), "a");
  auto two = second.start();
  ASSERT_TRUE(come_to_wait("a", 2));
  full(true);
  const Token token = lock.token();
  EXPECT_EQ(lock.release(), Released::released);
  ASSERT_TRUE(comes(one));
  const Token token_of_first = one.get();
  EXPECT_GT(token_of_first, token);
  EXPECT_EQ(first.release(), Released::released);
  ASSERT_TRUE(comes(two));
  EXPECT_GT(two.get(), token_of_first);
  EXPECT_EQ(second.release(), Released::released);
  expect_free("a");
}

TEST_F(RedisMemory, WithoutMemoryALockWithoutAnOrderIsReleased) {
  Client mine(server().url() + "?fair=no");
  Lock lock = mine.make_lock("a", {.lease = 30s});
  lock.lock();
  Party waiter(Client(server().url() + "?fair=no"), "a");
  auto token = waiter.start();
  ASSERT_TRUE(come_to_wait("a", 1));
  full(true);
  EXPECT_EQ(lock.release(), Released::released);
  full(false);
  ASSERT_TRUE(comes(token));
  EXPECT_GT(token.get(), Token(0));
  EXPECT_EQ(waiter.release(), Released::released);
}

TEST_F(RedisMemory, WithoutMemoryAWaiterLeavesTheQueueInTime) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  Client other = client();
  Party waiter(client(), "a");
  auto gives_up = waiter.worker().start([&] {
    std::error_code error;
    return own_duration_of([&] { EXPECT_FALSE(waiter.lock().try_lock_for(700ms, error)); });
  });
  ASSERT_TRUE(come_to_wait("a"));
  full(true);
  EXPECT_LT(gives_up.get(), 700ms + allowance + slack);
  EXPECT_TRUE(come_to_wait("a", 0));
  EXPECT_THAT(queued("a"), IsEmpty());
  lock.unlock();
  expect_free("a");
}

TEST_F(RedisMemory, WithoutMemoryTheNextWaiterTakesOverFromADeadHolder) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 900ms, .renew = false});
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  full(true);
  EXPECT_TRUE(comes(served, 900ms + 1s));
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_EQ(waiter.release(), Released::released);
}

TEST_F(RedisMemory, WithoutMemoryTheTurnEndsAndBothClientsGoOn) {
  Client mine = client({.turn = 0ms});
  Lock lock = mine.make_lock("a");
  lock.lock();
  Party other(client(), "a");
  auto theirs = other.start();
  ASSERT_TRUE(come_to_wait("a"));
  Worker behind;
  // Behind the other client: the release that yields has to find it a place, and there is no room.
  auto ours = behind.start([&] {
    lock.lock();
    const Token token = lock.token();
    lock.unlock();
    return token;
  });
  ASSERT_TRUE(behind.falls_asleep());
  full(true);
  lock.unlock();
  ASSERT_TRUE(comes(theirs));
  const Token token = theirs.get();
  EXPECT_EQ(other.release(), Released::released);
  full(false);
  ASSERT_TRUE(comes(ours));
  EXPECT_GT(ours.get(), token);
  expect_free("a");
}

// Each of its questions is heard, or it would count as dead after three seconds.
TEST_F(RedisMemory, WithoutMemoryAWaiterKeepsItsPlace) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  full(true);
  // It asks each second.
  for (int time = 0; time < 4; ++time) ASSERT_TRUE(asks_again("a")) << time;
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(comes(served, 1s));
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

// Of a client that has lost its connection.
TEST_F(RedisMemory, WithoutMemoryARepeatedRequestIsAnsweredAsTheFirst) {
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_EQ(acquire('b'), "queued");
  full(true);
  EXPECT_EQ(acquire('a'), "granted");
  EXPECT_EQ(acquire('b'), "queued");
  EXPECT_EQ(cancel('c'), "busy");
  EXPECT_EQ(cancel('b'), "busy");
  EXPECT_EQ(waiting("a"), 0U);
  EXPECT_EQ(release(), "released");
}

TEST_F(RedisMemory, WithoutMemoryNobodyJoinsAQueue) {
  ASSERT_EQ(acquire('a'), "granted");
  full(true);
  EXPECT_TRUE(server()
                  .talk()
                  .command(command("EVAL", std::string(redis::scripts::acquire.text),
                                   asking(attempt('b'), {}, 'w')))
                  .is_error());
  EXPECT_EQ(waiting("a"), 0U);
}

}  // namespace
}  // namespace mortise::fault
