// SPDX-License-Identifier: MIT
// Goal: tokens strictly grow whatever happens to the key (S2), scripts that are lost are loaded
// again, and an administrator can end a hold. Method: each event between two grants; SCRIPT FLUSH.
#include "fault/redis_fixture.hpp"
#include "support/force.hpp"

#include <functional>

namespace mortise::fault {
namespace {

class RedisTokens : public RedisTest {
 protected:
  /// Two grants to different clients, and the event between them.
  void expect_growth(const std::function<void(Lock& holder)>& event) {
    Client mine = client();
    Client other = client();
    Lock lock = mine.make_lock("a", {.lease = 300ms, .renew = false});
    Lock next = other.make_lock("a", {.lease = 300ms, .renew = false});
    Token last;
    for (int round = 0; round < 3; ++round) {
      Lock& holder = round % 2 == 0 ? lock : next;
      ASSERT_TRUE(holder.try_lock_for(patience));
      EXPECT_GT(holder.token(), last) << round;
      last = holder.token();
      event(holder);
      if (holder.hold_count() > 0) holder.unlock();
    }
  }
  void run(const RedisTalk::Command& words) {
    RedisTalk talk = server().talk();
    ASSERT_FALSE(talk.command(words).is_error());
  }
};

TEST_F(RedisTokens, GrowOverUnlock) {
  expect_growth([](Lock& holder) { holder.unlock(); });
}
TEST_F(RedisTokens, GrowOverExpiry) {
  expect_growth([&](Lock& holder) {
    EXPECT_TRUE(eventually([&] { return holder.lost().stop_requested() && !is_held("a"); }));
  });
}
// Promise: S2
TEST_F(RedisTokens, GrowOverFlush) {
  expect_growth([&](Lock&) { run({"FLUSHALL"}); });
}
// Promise: S2
TEST_F(RedisTokens, GrowOverTheLossOfTheKey) {
  expect_growth([&](Lock&) { run({"DEL", key("a")}); });
}
// Promise: S2
TEST_F(RedisTokens, GrowOverARestartWithoutPersistence) {
  expect_growth([&](Lock&) {
    server().kill();
    server().start();
  });
}
// Promise: S2
TEST_F(RedisTokens, GrowOverAReleaseByForce) {
  expect_growth([&](Lock&) { EXPECT_EQ(test::force_release(server().url(), "a", 2s).size(), 1U); });
}

TEST_F(RedisTokens, GrowOverHandOffs) {
  Client mine = client({.turn_handoffs = 0});
  Lock lock = mine.make_lock("a");
  lock.lock();
  Token last = lock.token();
  lock.unlock();
  for (int round = 0; round < 5; ++round) {
    lock.lock();
    EXPECT_GT(lock.token(), last);
    Party other(client(), "a");
    auto served = other.start();
    ASSERT_TRUE(come_to_wait("a"));
    const Token token = lock.token();
    lock.unlock();
    ASSERT_TRUE(comes(served));
    last = served.get();
    EXPECT_GT(last, token);
    EXPECT_EQ(other.release(), Released::released);
  }
}

class RedisScripts : public RedisTest {};

TEST_F(RedisScripts, ThatAreFlushedAreLoadedAgainSilently) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.make_lock("a", {.lease = 900ms});
  RedisTalk talk = server().talk();
  Token last;
  for (int cycle = 0; cycle < 200; ++cycle) {
    if (cycle % 3 == 0) talk.expect_ok({"SCRIPT", "FLUSH"});
    ASSERT_TRUE(taken_within(lock, 2s)) << cycle;
    EXPECT_GT(lock.token(), last);
    last = lock.token();
    if (cycle % 5 == 0) talk.expect_ok({"SCRIPT", "FLUSH"});
    EXPECT_EQ(lock.release(), Released::released);
  }
  // Renewals as well.
  lock.lock();
  talk.expect_ok({"SCRIPT", "FLUSH"});
  const std::size_t before = record->count(Record::Kind::renewed);
  EXPECT_TRUE(record->told(Record::Kind::renewed, before + 2));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(record->count(Record::Kind::failed), 0U);
}

TEST_F(RedisScripts, ThatAreFlushedWhileSomebodyWaitsAreLoadedAgain) {
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  RedisTalk talk = server().talk();
  talk.expect_ok({"SCRIPT", "FLUSH"});
  // Its next look finds them gone.
  ASSERT_TRUE(asks_again("a"));
  talk.expect_ok({"SCRIPT", "FLUSH"});
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(comes(served, slack));
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

TEST_F(RedisScripts, ThatAreFlushedInAllWaysOfLeavingLeaveNothing) {
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Client mine = client();
  Lock waits = mine.make_lock("a");
  RedisTalk talk = server().talk();
  for (int i = 0; i < 10; ++i) {
    Worker worker;
    auto gives_up = worker.start([&] { return waits.try_lock_for(answer_time); });
    ASSERT_TRUE(come_to_wait("a", 1));
    talk.expect_ok({"SCRIPT", "FLUSH"});
    EXPECT_FALSE(gives_up.get());
    EXPECT_TRUE(come_to_wait("a", 0));
  }
  EXPECT_THAT(queued("a"), IsEmpty());
}

}  // namespace
}  // namespace mortise::fault
