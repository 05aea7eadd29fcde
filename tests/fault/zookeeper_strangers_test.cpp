// SPDX-License-Identifier: MIT
// Goal: what others do to the nodes of a queue, knowingly or not, breaks no promise silently: a
// node that goes is a hold that is lost, one that comes first is waited for, and an order that
// cannot be told grants nothing. Method: a stranger's client, a server that reaps containers at
// once, and a counter that is set to its end.
#include <mortise/zookeeper.hpp>

#include "fault/zookeeper_fixture.hpp"
#include "support/free_port.hpp"

#include <atomic>
#include <optional>
#include <thread>

namespace mortise::fault {
namespace {

constexpr std::int64_t last_sequence = 2'147'483'647;

class ZooKeeperStrangers : public ZooKeeperTest {};
class ZooKeeperContainers : public ZooKeeperTest {};

class ZooKeeperSequence : public ZooKeeperTest {
 protected:
  void SetUp() override {
    MORTISE_NEEDS(ZooKeeperServer::missing_handle());
    have_own({.handled = true});
  }
};

TEST_F(ZooKeeperStrangers, WhoDeleteAHoldersNodeHaveItLostAndTold) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Client other = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  const Token token = lock.token();
  EXPECT_TRUE(record->told(Record::Kind::renewed, 1));
  server().talk().remove(queue("a").front());
  // Far sooner than by its deadline, which renewals move on.
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, session / 2));
  EXPECT_EQ(lock.valid_for(), 0ns);
  EXPECT_TRUE(record->told(Record::Kind::lost, 1));
  Lock next = other.make_lock("a");
  EXPECT_TRUE(next.try_lock_for(patience));
  EXPECT_GT(next.token(), token);
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_EQ(next.release(), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperStrangers, WhoDeleteAHoldersNodeAtOnceAreFoundOutByTheRelease) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  server().talk().remove(queue("a").front());
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(ZooKeeperStrangers, WhoDeleteAWaitersNodeCostItItsTurnOnly) {
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  const std::string place = queue("a").back();
  server().talk().remove(place);
  ASSERT_TRUE(come_to_wait("a")) << "the waiter has not come back";
  EXPECT_FALSE(comes_within(served, 0s));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(comes(served));
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

// Promise: S8
TEST_F(ZooKeeperStrangers, WhoDeleteAWaiterInTheMiddleMakeNoTwoHolders) {
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Party second(client(), "a");
  auto next = second.start();
  ASSERT_TRUE(come_to_wait("a", 1));
  Party third(client(), "a");
  auto last = third.start();
  ASSERT_TRUE(come_to_wait("a", 2));
  // The third watches the second, who goes: the lock is not the third's by that.
  server().talk().remove(queue("a").at(1));
  ASSERT_TRUE(come_to_wait("a", 2));
  EXPECT_FALSE(comes_within(next, 0s));
  EXPECT_FALSE(comes_within(last, 300ms)) << "two hold the lock";
  EXPECT_EQ(lock.release(), Released::released);
  ASSERT_TRUE(comes(last));
  EXPECT_FALSE(comes_within(next, 0s));
  EXPECT_EQ(third.release(), Released::released);
  ASSERT_TRUE(comes(next));
  EXPECT_EQ(second.release(), Released::released);
  expect_free("a");
}

// As Curator, kazoo and Go name theirs.
TEST_F(ZooKeeperStrangers, WhoCameFirstAreWaitedForByWhateverNames) {
  Client mine = client();
  make_parent(mine, "a");
  ZooKeeperTalk talk = server().talk();
  for (const char* const prefix :
       {"_c_4d0b3c9e-6a2f-4d55-9d5a-6f3c8f8f0e11-lock-", "0c2a7d7d9a3b4f1fb29e6b0f6e1c5a77__lock__",
        "_c_0c2a7d7d9a3b4f1fb29e6b0f6e1c5a77-lock-", "lock-"}) {
    const std::string first =
        talk.create(path("a") + "/" + prefix, ZooKeeperKind::ephemeral_sequential);
    Lock lock = mine.make_lock("a");
    EXPECT_FALSE(lock.try_lock()) << prefix;
    Party waiter(client(), "a");
    auto served = waiter.start();
    ASSERT_TRUE(come_to_wait("a")) << prefix;
    // And who comes last is waited for by nobody.
    const std::string last =
        talk.create(path("a") + "/" + prefix, ZooKeeperKind::ephemeral_sequential);
    EXPECT_FALSE(comes_within(served, 0s)) << prefix;
    talk.remove(first);
    ASSERT_TRUE(comes(served)) << prefix;
    EXPECT_EQ(waiter.release(), Released::released);
    talk.remove(last);
    expect_free("a");
  }
}

TEST_F(ZooKeeperStrangers, WhoHoldAreNamed) {
  Client mine = client();
  make_parent(mine, "a");
  ZooKeeperTalk talk = server().talk();
  talk.create(path("a") + "/x-lock-", ZooKeeperKind::ephemeral_sequential, "192.168.1.7");
  Lock lock = mine.make_lock("a");
  const std::optional<Holder> holder = lock.holder();
  ASSERT_TRUE(holder);
  EXPECT_THAT(holder->label, HasSubstr("192.168.1.7"));
}

TEST_F(ZooKeeperContainers, ThatAreReapedBetweenTwoAcquisitionsAreMadeAnew) {
  have_own({.jvm = {"-Dznode.container.checkIntervalMs=1000"}});
  Client mine = client();
  Lock lock = mine.make_lock("a");
  Token last;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(lock.try_lock_for(patience)) << round;
    EXPECT_GT(lock.token(), last) << round;
    last = lock.token();
    EXPECT_EQ(lock.release(), Released::released);
    ZooKeeperTalk talk = server().talk();
    EXPECT_TRUE(eventually([&] { return !talk.stat(path("a")); })) << "a container that is not";
  }
}

// Without waiting for it: somewhere between two requests.
TEST_F(ZooKeeperContainers, ThatAreReapedAllTheTimeCostNoLock) {
  have_own({.jvm = {"-Dznode.container.checkIntervalMs=5"}});
  constexpr int workers = 3;
  constexpr int enough = 51;
  std::atomic<int> inside{0};
  std::atomic<int> grants{0};
  std::vector<std::thread> threads;
  threads.reserve(workers);
  // A loaded machine takes longer for as many.
  const auto began = std::chrono::steady_clock::now();
  const auto goes_on = [&] {
    const auto passed = std::chrono::steady_clock::now() - began;
    return passed < 2s || (grants.load() < enough && passed < patience);
  };
  for (int i = 0; i < workers; ++i) {
    threads.emplace_back([&] {
      Client mine = client();
      Lock lock = mine.make_lock("a");
      while (goes_on()) {
        std::error_code error;
        if (!lock.try_lock_for(patience, error)) {
          ADD_FAILURE() << error.message();
          return;
        }
        EXPECT_EQ(inside.fetch_add(1), 0) << "two hold the lock";
        inside.fetch_sub(1);
        ++grants;
        lock.unlock();
        // Long enough for the parent to be empty now and then.
        std::this_thread::sleep_for(std::chrono::milliseconds(grants.load() % 11));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(grants.load(), enough);
  expect_free("a");
}

// Promise: S2
TEST_F(ZooKeeperSequence, AtItsEndHasTheParentRenewedWhileTokensGrow) {
  Client mine = client();
  make_parent(mine, "a");
  const std::int64_t parent = server().talk().stat(path("a"))->created;
  server().set_sequence(path("a"), last_sequence - 20);
  Lock lock = mine.make_lock("a");
  Token last;
  for (int round = 0; round < 60; ++round) {
    ASSERT_TRUE(lock.try_lock_for(patience)) << round;
    EXPECT_GT(lock.token(), last) << round;
    last = lock.token();
    EXPECT_LT(ZooKeeperLocks::sequence(queue("a").front()), last_sequence) << round;
    EXPECT_EQ(lock.release(), Released::released) << round;
  }
  const auto now = server().talk().stat(path("a"));
  EXPECT_TRUE(!now || now->created != parent) << "the parent has not been renewed";
}

TEST_F(ZooKeeperSequence, AtItsEndWithManyWhoWantTheLockGrantsItToOneAtATime) {
  constexpr int workers = 4;
  {
    Client mine = client();
    make_parent(mine, "a");
  }
  server().set_sequence(path("a"), last_sequence - 30);
  std::atomic<int> inside{0};
  std::atomic<std::uint64_t> last{0};
  std::vector<std::thread> threads;
  threads.reserve(workers);
  for (int i = 0; i < workers; ++i) {
    threads.emplace_back([&] {
      Client mine = client();
      Lock lock = mine.make_lock("a");
      for (int round = 0; round < 30; ++round) {
        std::error_code error;
        if (!lock.try_lock_for(patience, error)) {
          ADD_FAILURE() << "no lock in round " << round << ": " << error.message();
          return;
        }
        EXPECT_EQ(inside.fetch_add(1), 0) << "two hold the lock";
        EXPECT_LT(last.exchange(lock.token().value()), lock.token().value());
        inside.fetch_sub(1);
        lock.unlock();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect_free("a");
}

// On this server every child has the same number from then on: who was first, nobody can tell.
TEST_F(ZooKeeperSequence, ThatSticksIsAnErrorAndNeverAGrant) {
  Client mine = client();
  make_parent(mine, "a");
  server().set_sequence(path("a"), last_sequence);
  ZooKeeperTalk talk = server().talk();
  const std::string foreign =
      talk.create(path("a") + "/x-lock-", ZooKeeperKind::ephemeral_sequential);
  ASSERT_EQ(ZooKeeperLocks::sequence(foreign), last_sequence);
  Lock lock = mine.make_lock("a");
  std::error_code error;
  EXPECT_FALSE(lock.try_lock_for(500ms, error)) << "a tie was decided";
  EXPECT_TRUE(error) << "nobody is told";
  EXPECT_TRUE(comes_to_be("a", 1, session / 2));
  // When the stranger has gone it works again: the parent is renewed.
  talk.remove(foreign);
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_LT(ZooKeeperLocks::sequence(queue("a").front()), last_sequence);
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

}  // namespace
}  // namespace mortise::fault
