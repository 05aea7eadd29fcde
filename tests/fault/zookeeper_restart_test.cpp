// SPDX-License-Identifier: MIT
// Goal: a ZooKeeper that dies, stands still or cannot be reached costs what the manual says and no
// more: what it acknowledged survives, holds last until their deadlines, calls keep their times.
// Method: kill -9, SIGSTOP and a proxy that swallows, while a lock is held and while it is waited
// for.
#include "fault/zookeeper_fixture.hpp"

#include <optional>

namespace mortise::fault {
namespace {

class ZooKeeperRestart : public ZooKeeperTest {};
class ZooKeeperOutage : public ZooKeeperTest {};

TEST_F(ZooKeeperRestart, AHoldStandsAndIsRenewed) {
  const auto record = std::make_shared<Record>();
  Client mine(url("session=6s&margin=300ms"), {.observer = record});
  Client other = client();
  Lock lock = mine.lock("a");
  lock.lock();
  const Token token = lock.token();
  server().restart();
  const std::size_t before = record->count(Record::Kind::renewed);
  EXPECT_TRUE(record->told(Record::Kind::renewed, before + 2));
  EXPECT_FALSE(other.lock("a").try_lock_for(100ms));
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_GT(lock.valid_for(), 1s);
  EXPECT_EQ(lock.token(), token);
  EXPECT_EQ(lock.release(), Released::released);
  Lock next = other.lock("a");
  EXPECT_TRUE(next.try_lock_for(patience));
  EXPECT_GT(next.token(), token);
  next.unlock();
  expect_free("a");
}

TEST_F(ZooKeeperRestart, AWaiterGoesOnWaitingAndIsServedByTheRelease) {
  const std::string in_long = "session=6s&margin=300ms";
  Client mine(url(in_long));
  Lock lock = mine.lock("a");
  lock.lock();
  Party waiter(Client(url(in_long)), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  const std::string place = queue("a").back();
  server().restart();
  mine.check(patience);
  waiter.client().check(patience);
  ASSERT_EQ(queue("a").size(), 2U);
  EXPECT_EQ(queue("a").back(), place) << "it has lost its turn";
  EXPECT_FALSE(comes(served, 0s));
  const Token token = lock.token();
  EXPECT_EQ(lock.release(), Released::released);
  ASSERT_TRUE(comes(served));
  EXPECT_GT(served.get(), token);
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperRestart, AServerThatStaysAwayBeyondTheSessionHasTheHoldLostByTheClock) {
  Client mine = client();
  Lock lock = mine.lock("a");
  lock.lock();
  server().kill();
  const std::chrono::nanoseconds left = lock.valid_for();
  // The safety margin. What a follower keeps to itself (`margin` of the URL) is in the proof that
  // the hold counts from: src/zookeeper/life.hpp.
  EXPECT_LE(left, session - session / 10);
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, left + allowance + slack));
  EXPECT_EQ(lock.valid_for(), 0ns);
  server().start();
  lock.unlock();
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperRestart, WhoComesWhileTheServerIsDownIsServedWhenItIsBack) {
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

TEST_F(ZooKeeperRestart, AReleaseWhileTheServerIsDownIsDoneWhenItIsBack) {
  Client mine(url("session=20s&margin=300ms"));
  Lock lock = mine.lock("a");
  lock.lock();
  server().kill();
  Released outcome{};
  EXPECT_LT(own_duration_of([&] { outcome = lock.release(); }), 1s + slack);
  EXPECT_EQ(outcome, Released::unknown);
  server().start();
  // Far sooner than by its session.
  EXPECT_TRUE(comes_to_be("a", 0, 5s));
}

TEST_F(ZooKeeperOutage, AServerThatStandsStillCostsTimeAndNothingElse) {
  const std::string in_long = "session=20s&margin=300ms";
  Client mine(url(in_long));
  Lock held = mine.lock("held");
  held.lock();
  Lock lock = mine.lock("a");
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
  EXPECT_TRUE(comes_to_be("held", 0, 4s)) << "the release was forgotten";
  expect_free("a");
}

// Promise: L4
TEST_F(ZooKeeperOutage, ClosingIsBoundedWhenTheServerStandsStill) {
  std::optional<Client> mine = client();
  Lock lock = mine->lock("a");
  lock.lock();
  server().stop();
  EXPECT_LT(own_duration_of([&] { mine.reset(); }), 2s + slack);
  server().resume();
  // Its session ends, in good order or by itself.
  EXPECT_TRUE(comes_to_be("a", 0, session + 2s));
}

// Promise: L8
TEST_F(ZooKeeperOutage, AShortOneCostsNoHold) {
  const auto record = std::make_shared<Record>();
  Client mine = proxied({.observer = record});
  Lock lock = mine.lock("a");
  lock.lock();
  for (int i = 0; i < 3; ++i) {
    proxy().cut_all();
    const std::size_t before = record->count(Record::Kind::renewed);
    EXPECT_TRUE(record->told(Record::Kind::renewed, before + 1));
  }
  proxy().blackhole(true);
  EXPECT_FALSE(eventually([&] { return lock.lost().stop_requested(); }, session / 4));
  proxy().blackhole(false);
  const std::size_t before = record->count(Record::Kind::renewed);
  EXPECT_TRUE(record->told(Record::Kind::renewed, before + 1));
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperOutage, ALongOneLosesTheHoldBeforeTheServerGivesItToAnother) {
  Client mine = proxied();
  Client other = client();
  Lock lock = mine.lock("a");
  lock.lock();
  const Owner holder = Owner().or_this_thread();
  Party waiter(client(), "a");
  auto left = waiter.worker().start([&] {
    waiter.lock().lock();
    return lock.valid_for(holder);
  });
  ASSERT_TRUE(come_to_wait("a"));
  proxy().blackhole(true);
  ASSERT_TRUE(comes(left, session + 2s));
  EXPECT_EQ(left.get(), 0ns) << "two held the lock";
  EXPECT_TRUE(lock.lost().stop_requested());
  proxy().blackhole(false);
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_EQ(queue("a").size(), 1U);
  EXPECT_FALSE(waiter.run([&] { return waiter.lock().lost().stop_requested(); }));
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperOutage, RequestsThatArriveLateGrantNothing) {
  Client mine = proxied();
  make_parent(mine, "a");
  // Kept, as by a network that stalls; the client gives up, and comes back by another way.
  proxy().hold_requests(true);
  Lock lock = mine.lock("a");
  std::error_code error;
  EXPECT_FALSE(lock.try_lock_for(300ms, error));
  EXPECT_TRUE(is_retryable(error)) << error.message();
  proxy().hold_requests(false);
  expect_free("a");
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(queue("a").size(), 1U);
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

// Promise: L3
TEST_F(ZooKeeperOutage, ATimedWaitLeavesNoPlaceBehind) {
  Client theirs = client();
  Lock lock = theirs.lock("a");
  lock.lock();
  Client mine = proxied();
  mine.check(patience);
  Lock wanted = mine.lock("a");
  for (int i = 0; i < 20; ++i) {
    std::error_code busy;  // or no answer in so little time
    EXPECT_FALSE(wanted.try_lock_for(5ms, busy)) << i;
    EXPECT_FALSE(wanted.try_lock(busy)) << i;
  }
  EXPECT_TRUE(comes_to_be("a", 1, 1s));
  // And where the reply to its leaving is lost.
  for (const auto moment : {Proxy::Moment::request, Proxy::Moment::reply}) {
    proxy().cut_at(1, moment, "DELETE");
    std::error_code error;
    EXPECT_FALSE(wanted.try_lock_for(50ms, error));
    EXPECT_TRUE(comes_to_be("a", 1, session / 2));
    proxy().heal();
  }
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperOutage, ANameThatNobodyKnowsIsUnavailableInWords) {
  Client mine("zookeeper://nobody.invalid:2181/locks", {.give_up = 200ms});
  Lock lock = mine.lock("a");
  Failure failure;
  EXPECT_LT(
      duration_of([&] { failure = failure_of([&] { EXPECT_FALSE(lock.try_lock_for(300ms)); }); }),
      300ms + allowance + slack);
  EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("nobody.invalid"));
}

TEST_F(ZooKeeperOutage, AnAnswerToSomethingElseCostsAConnectionAndNoLock) {
  Client mine = proxied();
  make_parent(mine, "a");
  Lock held = mine.lock("held");
  held.lock();
  // 16 bytes that answer request 2^31 - 1: the C client takes that for the end of all order.
  const std::string to_nobody("\0\0\0\x10\x7f\xff\xff\xff\0\0\0\0\0\0\0\0\0\0\0\0", 20);
  proxy().garbage(to_nobody, Proxy::Replies::scripts);
  Lock lock = mine.lock("a");
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(queue("a").size(), 1U);
  EXPECT_FALSE(held.lost().stop_requested());
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(held.release(), Released::released);
  expect_free("a");
  expect_free("held");
}

}  // namespace
}  // namespace mortise::fault
