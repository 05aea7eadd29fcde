// SPDX-License-Identifier: MIT
// Goal: a session that ends takes its holds and its places in queues with it, everybody concerned
// is told, and what another session left behind is nobody's hold. Method: the server ends sessions
// by order of the test, and clients stand still beyond theirs.
#include "fault/zookeeper_fixture.hpp"
#include "model/process.hpp"
#include "support/contract_process.hpp"

#include <algorithm>

namespace mortise::fault {
namespace {

constexpr std::chrono::minutes session_worker_time{5};

/// On a server that ends sessions by order.
class ZooKeeperExpiry : public ZooKeeperTest {
 protected:
  void SetUp() override {
    MORTISE_NEEDS(ZooKeeperServer::missing_handle());
    have_own({.handled = true});
  }
};

class ZooKeeperPauses : public ZooKeeperTest {};

// Promise: S6
TEST_F(ZooKeeperExpiry, LosesEveryHoldOfTheSessionAndTellsSo) {
  const auto record = std::make_shared<Record>();
  Client mine(url("session=6s"), {.observer = record});
  Lock first = mine.make_lock("a");
  Lock second = mine.make_lock("b");
  first.lock();
  second.lock();
  const Token token = first.token();
  const std::stop_token lost_first = first.lost();
  const std::stop_token lost_second = second.lost();
  const std::int64_t before = owner_of(queue("a").front());
  server().expire(before);
  // At the next renewal, a third of the lease from now at the latest, and far sooner than by the
  // clock.
  ASSERT_GT(first.valid_for(), 4s);
  EXPECT_TRUE(eventually([&] { return lost_first.stop_requested(); }, 3s));
  EXPECT_TRUE(eventually([&] { return lost_second.stop_requested(); }));
  EXPECT_EQ(first.valid_for(), 0ns);
  EXPECT_TRUE(record->told(Record::Kind::lost, 2));
  EXPECT_EQ(first.release(), Released::was_lost);
  EXPECT_EQ(second.release(), Released::was_lost);
  EXPECT_TRUE(first.try_lock_for(patience));
  EXPECT_GT(first.token(), token);
  EXPECT_NE(owner_of(queue("a").front()), before);
  EXPECT_EQ(first.release(), Released::released);
  expect_free("a");
  expect_free("b");
}

TEST_F(ZooKeeperExpiry, IsToldAtOnceFromTheFirstRenewalOn) {
  const auto record = std::make_shared<Record>();
  Client mine(url("session=6s"), {.observer = record});
  Lock lock = mine.make_lock("a");
  lock.lock();
  ASSERT_TRUE(record->told(Record::Kind::renewed, 1));
  server().expire(owner_of(queue("a").front()));
  // The next renewal is nearly two seconds away.
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, 1s));
  EXPECT_EQ(lock.release(), Released::was_lost);
}

TEST_F(ZooKeeperExpiry, AWaiterQueuesAgainUnderItsNextSession) {
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  const std::string place = queue("a").back();
  const std::int64_t before = owner_of(place);
  server().expire(before);
  ASSERT_TRUE(eventually([&] {
    const std::vector<std::string> now = queue("a");
    return now.size() == 2 && now.back() != place;
  })) << "the waiter has not come back";
  EXPECT_NE(owner_of(queue("a").back()), before);
  EXPECT_FALSE(comes_within(served, 0s));
  EXPECT_FALSE(lock.lost().stop_requested());
  const Token token = lock.token();
  EXPECT_EQ(lock.release(), Released::released);
  ASSERT_TRUE(comes(served));
  EXPECT_GT(served.get(), token);
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperExpiry, OfWaiterAndHolderLeavesOneHolderAndNoPlace) {
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  const Token token = lock.token();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  std::vector<std::int64_t> sessions;
  for (const std::string& node : queue("a")) sessions.push_back(owner_of(node));
  std::swap(sessions.front(), sessions.back());  // or the waiter would be served, and lose it
  for (const std::int64_t one : sessions) server().expire(one);
  ASSERT_TRUE(comes(served));
  EXPECT_GT(served.get(), token);
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, session));
  EXPECT_EQ(queue("a").size(), 1U);
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperExpiry, WhileAReplyIsAwaitedGrantsNothingOfTheOldSession) {
  Client mine = proxied();
  Lock warm = mine.make_lock("warm");
  warm.lock();
  make_parent(mine, "a");
  const std::int64_t before = owner_of(queue("warm").front());
  // The node is made, its reply is lost, and the client cannot come back before it expires.
  proxy().reset_new(true);
  proxy().cut_at(1, Proxy::Moment::reply, "CREATE2");
  Party taker(std::move(mine), "a");
  auto taken = taker.start();
  ASSERT_TRUE(comes_to_be("a", 1));
  const std::string node = queue("a").front();
  EXPECT_EQ(owner_of(node), before);
  server().expire(before);
  ASSERT_TRUE(comes_to_be("a", 0));
  EXPECT_FALSE(comes_within(taken, 0s));
  proxy().reset_new(false);
  ASSERT_TRUE(comes(taken));
  ASSERT_EQ(queue("a").size(), 1U);
  EXPECT_NE(queue("a").front(), node);
  EXPECT_NE(owner_of(queue("a").front()), before);
  EXPECT_EQ(taker.release(), Released::released);
  expect_free("a");
  EXPECT_EQ(warm.release(), Released::was_lost);
}

// Promise: S5
TEST_F(ZooKeeperExpiry, ANodeWithOurIdInAForeignSessionIsNotOurs) {
  Client mine = proxied();
  make_parent(mine, "a");
  proxy().reset_new(true);
  proxy().cut_at(1, Proxy::Moment::reply, "CREATE2");
  Party taker(std::move(mine), "a");
  auto taken = taker.start();
  ASSERT_TRUE(comes_to_be("a", 1));
  // As a node of a former session that is dying: the same id, somebody else's session.
  ZooKeeperTalk stranger = server().talk();
  const std::string node = queue("a").front();
  const std::string id = node.substr(0, node.find_last_not_of("0123456789") + 1);
  stranger.remove(node);
  const std::string foreign = stranger.create(id, ZooKeeperKind::ephemeral_sequential);
  proxy().reset_new(false);
  ASSERT_TRUE(come_to_wait("a")) << "it stands on a foreign node, or nowhere";
  EXPECT_EQ(queue("a").front(), foreign);
  EXPECT_FALSE(comes_within(taken, 1200ms));
  stranger.remove(foreign);
  ASSERT_TRUE(comes(taken));
  EXPECT_EQ(taker.release(), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperPauses, AWaiterThatStoodStillBeyondItsSessionIsPassedOverAndServedLater) {
  const contract::Line holds;
  const std::string at = url();
  model::Process sleeper = model::Process::fork_child([&] {
    Client mine(at);
    Lock lock = mine.make_lock("a");
    mine.check(patience);
    lock.lock();
    holds.tell('h');
    static_cast<void>(contract::Line().hear(session_worker_time));
    return 0;
  });
  ASSERT_EQ(holds.hear(patience), 'h');
  model::Process waiter = model::Process::fork_child([&] {
    Client mine(at);
    Lock lock = mine.make_lock("a");
    lock.lock();
    holds.tell('w');
    static_cast<void>(contract::Line().hear(session_worker_time));
    return 0;
  });
  ASSERT_TRUE(come_to_wait("a"));
  ASSERT_TRUE(waiter.stop());
  Client mine = client();
  Lock lock = mine.make_lock("a");
  const std::string place = queue("a").back();
  // The holder dies, too: both sessions end, and whoever lives is next.
  sleeper.kill();
  ASSERT_TRUE(taken_within(lock, session + 1s));
  const std::vector<std::string> left = queue("a");
  EXPECT_EQ(std::count(left.begin(), left.end(), place), 0) << "its place has outlived its session";
  waiter.resume();
  EXPECT_EQ(holds.hear(300ms), '\0') << "it was served by what it slept through";
  ASSERT_TRUE(come_to_wait("a"));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(holds.hear(patience), 'w');
}

}  // namespace
}  // namespace mortise::fault
