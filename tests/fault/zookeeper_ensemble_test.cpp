// SPDX-License-Identifier: MIT
// Goal: an ensemble that loses a server serves on, one that loses two serves nobody and forgets
// nothing, and a hold is kept or lost by its deadline, never both. Method: leaders and followers
// are killed and stopped while locks are held and waited for.
#include "support/zookeeper_ensemble.hpp"

#include "fault/party.hpp"
#include "support/zookeeper_locks.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::fault {
namespace {

using test::ZooKeeperEnsemble;
using test::ZooKeeperLocks;
using test::ZooKeeperServer;
using test::ZooKeeperTalk;

class ZooKeeperQuorum : public ::testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_ZOOKEEPER(); }
  [[nodiscard]] std::string rest() const { return root_ + "?margin=300ms&session=10s"; }
  [[nodiscard]] Client client(ClientOptions options = {}) {
    return Client(all_.url(rest()), std::move(options));
  }
  /// A client of one server alone.
  [[nodiscard]] Client client_of(std::size_t server) {
    return Client(all_.server(server).url(rest()));
  }
  [[nodiscard]] std::vector<std::string> queue(const std::string& name) {
    ZooKeeperTalk talk = all_.talk();
    talk.sync("/");
    return ZooKeeperLocks("/" + root_).queue(talk, name);
  }
  [[nodiscard]] bool comes_to_be(const std::string& name, std::size_t nodes,
                                 std::chrono::nanoseconds within = patience) {
    return eventually([&] { return queue(name).size() == nodes; }, within);
  }

  // Once a test: a second `shared()` would start what the test has killed.
  ZooKeeperEnsemble& all_ = ZooKeeperEnsemble::shared();

 private:
  const std::string root_ = ZooKeeperServer::fresh_root();
};

TEST_F(ZooKeeperQuorum, AHoldAndAWaiterOutliveTheLeader) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.make_lock("a");
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(comes_to_be("a", 2));
  const std::vector<std::string> before = queue("a");
  all_.server(all_.leader()).kill();
  const std::size_t renewed = record->count(Record::Kind::renewed);
  EXPECT_TRUE(record->told(Record::Kind::renewed, renewed + 1));
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(queue("a"), before);
  EXPECT_FALSE(comes_within(served, 0s));
  const Token token = lock.token();
  EXPECT_EQ(lock.release(), Released::released);
  ASSERT_TRUE(comes(served));
  EXPECT_GT(served.get(), token);
  EXPECT_EQ(waiter.release(), Released::released);
  EXPECT_TRUE(comes_to_be("a", 0));
}

TEST_F(ZooKeeperQuorum, AClientWhoseServerDiesGoesToAnother) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  const Token token = lock.token();
  // Wherever it is connected: each of them in turn.
  for (std::size_t i = 0; i < ZooKeeperEnsemble::size; ++i) {
    all_.server(i).kill();
    mine.check(patience);
    all_.complete();
  }
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.token(), token);
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(comes_to_be("a", 0));
}

TEST_F(ZooKeeperQuorum, WithoutAMajorityNobodyIsServedAndNothingForgotten) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  Lock free = mine.make_lock("b");
  lock.lock();
  const std::size_t leads = all_.leader();
  all_.server((leads + 1) % ZooKeeperEnsemble::size).kill();
  all_.server((leads + 2) % ZooKeeperEnsemble::size).kill();
  std::error_code error;
  EXPECT_LT(own_duration_of([&] { EXPECT_FALSE(free.try_lock_for(500ms, error)); }),
            500ms + allowance + slack);
  EXPECT_TRUE(is_retryable(error)) << error.message();
  all_.complete();
  EXPECT_TRUE(free.try_lock_for(patience));
  EXPECT_EQ(free.release(), Released::released);
  // Kept or lost, as the time has gone; and the caller is told the truth.
  const bool lost = lock.valid_for() == 0ns;
  EXPECT_EQ(lock.release(), lost ? Released::was_lost : Released::released);
  EXPECT_TRUE(comes_to_be("a", 0));
  EXPECT_TRUE(comes_to_be("b", 0));
}

TEST_F(ZooKeeperQuorum, ALeaderThatStandsStillIsReplacedAndFindsNoFollowers) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  const std::size_t led = all_.leader();
  all_.server(led).stop();
  EXPECT_TRUE(eventually([&] { return all_.leader() != led; }));
  std::error_code error;
  Client other = client_of((led + 1) % ZooKeeperEnsemble::size);
  Lock free = other.make_lock("b");
  EXPECT_TRUE(free.try_lock_for(patience, error)) << error.message();
  EXPECT_EQ(free.release(), Released::released);
  Lock wanted = other.make_lock("a");
  EXPECT_FALSE(wanted.try_lock_for(answer_time)) << "two hold the lock";
  all_.server(led).resume();
  all_.complete();
  mine.check(patience);
  const bool lost = lock.valid_for() == 0ns;
  EXPECT_EQ(lock.release(), lost ? Released::was_lost : Released::released);
  EXPECT_TRUE(comes_to_be("a", 0));
}

// One that lags behind must not grant what others know to be held.
// Promise: S1
TEST_F(ZooKeeperQuorum, ClientsOfThreeServersHoldOneAtATime) {
  constexpr int rounds = 100;
  std::atomic<int> inside{0};
  std::atomic<std::uint64_t> last{0};
  std::vector<std::thread> threads;
  threads.reserve(ZooKeeperEnsemble::size);
  for (std::size_t i = 0; i < ZooKeeperEnsemble::size; ++i) {
    threads.emplace_back([&, i] {
      Client mine = client_of(i);
      Lock lock = mine.make_lock("a");
      for (int round = 0; round < rounds; ++round) {
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
  EXPECT_TRUE(comes_to_be("a", 0));
}

}  // namespace
}  // namespace mortise::fault
