// SPDX-License-Identifier: MIT
// Goal: what a client says last is heard although nobody is there any more to say it once more (L1,
// L2). Method: a server that knows none of the scripts, and stands still while a client closes.
#include "fault/redis_fixture.hpp"

namespace mortise::fault {
namespace {

class RedisLastWords : public RedisTest {
 protected:
  /// @return how often the server was asked for a script that it did not know: "count=1".
  [[nodiscard]] std::string unknown_scripts() {
    return server().talk().info("errorstats")["errorstat_NOSCRIPT"];
  }
};

TEST_F(RedisLastWords, NoFirstCallIsRefusedForTheLackOfItsScript) {
  Client mine = client();
  Client theirs = client();
  Lock lock = mine.make_lock("a", {.lease = 1s});
  Lock other = theirs.make_lock("a");
  lock.lock();
  EXPECT_FALSE(other.try_lock_for(answer_time));  // joins the queue, and leaves it
  EXPECT_TRUE(other.holder());
  const std::chrono::nanoseconds left = lock.valid_for();
  EXPECT_TRUE(eventually([&] { return lock.valid_for() > left; })) << "it is not renewed";
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(unknown_scripts(), "");
  EXPECT_GE(server().talk().command_stats().at("eval"), 4U);
}

TEST_F(RedisLastWords, ScriptsThatWereFlushedAreSentOnceMore) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  EXPECT_EQ(lock.release(), Released::released);
  lock.lock();
  server().talk().expect_ok({"SCRIPT", "FLUSH"});
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(unknown_scripts(), "count=1");
  EXPECT_TRUE(lock.try_lock());
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(unknown_scripts(), "count=1") << "one that was not known says that none is";
}

TEST_F(RedisLastWords, AWaiterWhoseClientClosesLeavesTheQueueOfAServerThatStoodStill) {
  Client holders = client();
  Lock held = holders.make_lock("a", {.lease = 20s});
  held.lock();
  std::optional<Party> waiter;
  waiter.emplace(client(), "a");
  const auto waits = waiter->start();
  ASSERT_TRUE(come_to_wait("a"));
  // The server may have answered this look before it answers the waiter, in the same turn. With an
  // answer to give to a connection that is gone it would not read what that has said last.
  EXPECT_EQ(waiting("a"), 1U);
  server().stop();
  waiter.reset();
  server().resume();
  // Not when it was silent for so long that it counts as dead.
  EXPECT_TRUE(eventually([&] { return waiting("a") == 0; }, 1s)) << heard_of("a");
  EXPECT_EQ(held.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
