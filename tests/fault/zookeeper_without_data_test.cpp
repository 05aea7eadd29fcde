// SPDX-License-Identifier: MIT
// Goal: clients go on by themselves where their servers have lost all data: what they had seen of
// the old data keeps no session from the new one. Method: a server that starts again with an empty
// directory, under clients that hold, wait, and have recorded something.
#include "fault/zookeeper_fixture.hpp"

namespace mortise::fault {
namespace {

/// The session is over, the server's next one is made, and the pause between two tries is past.
constexpr std::chrono::milliseconds to_recover = std::chrono::seconds(2) + session;

class ZooKeeperWithoutData : public ZooKeeperTest {
 protected:
  void SetUp() override {
    ZooKeeperTest::SetUp();
    if (!IsSkipped()) have_own();
  }
};

// Promise: L7
TEST_F(ZooKeeperWithoutData, AClientThatHeldALockWorksAgain) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(lock.try_lock_for(patience));
    lock.unlock();
  }
  lock.lock();
  server().restart_without_data();
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, to_recover));
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_TRUE(lock.try_lock_for(to_recover + patience)) << "the old session is still told of";
  EXPECT_EQ(queue("a").size(), 1U);
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperWithoutData, AWaiterIsServed) {
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  server().restart_without_data();
  EXPECT_TRUE(comes(served, to_recover + patience));
  EXPECT_EQ(waiter.release(), Released::released);
  EXPECT_EQ(lock.release(), Released::was_lost);
}

TEST_F(ZooKeeperWithoutData, AKeyRunsAnew) {
  Client mine = client();
  const auto run = [&](const std::string& result) {
    return mine.make_once("k").run([&] { return result; }).result();
  };
  EXPECT_EQ(run("first"), "first");
  EXPECT_EQ(run("again"), "first");
  server().restart_without_data();
  EXPECT_EQ(run("second"), "second") << "nothing is remembered any more";
  EXPECT_EQ(run("again"), "second");
}

// The session lives on at a server that kept its data, and is not given up.
TEST_F(ZooKeeperWithoutData, ARestartWithDataKeepsTheSession) {
  Client theirs(url("session=20s"));  // longer than any start
  Lock lock = theirs.make_lock("a");
  lock.lock();
  const std::int64_t before = owner_of(queue("a").front());
  server().restart();
  const Token token = lock.token();
  EXPECT_TRUE(eventually([&] { return owner_of(queue("a").front()) == before; }));
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.token(), token);
  EXPECT_EQ(lock.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
