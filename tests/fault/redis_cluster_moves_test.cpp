// SPDX-License-Identifier: MIT
// Goal: a slot that moves, and a master that is replaced, cost nobody a hold, a place or a wake-up
// that the servers have not lost; tokens grow (S1, S2, L5, L7). Method: a cluster whose slots are
// moved step by step, and whose masters are killed and replaced, while names are held and waited
// for.
#include "fault/redis_cluster_fixture.hpp"
#include "redis/store/requests.hpp"

namespace mortise::fault {
namespace {

class RedisClusterMoves : public RedisClusterTest {
 protected:
  /// Another one than has the name.
  [[nodiscard]] std::size_t other_than(std::size_t master) { return (master + 1) % 3; }
};

// Promise: S2
TEST_F(RedisClusterMoves, ASlotMovesWhileItsNameIsHeldAndWaitedFor) {
  cluster({.masters = 3, .replicas = 0});
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.make_lock("a", {.lease = 3s});
  lock.lock();
  const Token token = lock.token();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(comes_to_listen("a"));
  const std::size_t to = other_than(cluster().master_of("a"));
  cluster().move(cluster().slot_of("a"), to);
  EXPECT_TRUE(record->told(Record::Kind::renewed, 1));
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(waiting("a"), 1U);
  EXPECT_TRUE(comes_to_listen("a")) << "where the slot is now";
  EXPECT_EQ(lock.release(), Released::released);
  ASSERT_TRUE(comes(served, 500ms));
  EXPECT_GT(served.get().value(), token.value());
  EXPECT_EQ(waiter.release(), Released::released);
}

// ASK: the name has left, and its slot has not. Whoever takes that for a move asks the other server
// for names that it has not got, and is sent back.
TEST_F(RedisClusterMoves, ANameThatHasLeftBeforeItsSlotIsServedWhereItIs) {
  cluster({.masters = 3, .replicas = 0});
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.make_lock("a", {.lease = 3s});
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(comes_to_listen("a"));
  const std::uint16_t slot = cluster().slot_of("a");
  const std::size_t from = cluster().master_of("a");
  const std::size_t to = other_than(from);
  cluster().begin_move(slot, to);
  cluster().move_keys(slot, to);
  Client third = client();
  Lock theirs = third.make_lock("a");
  const Failure failure = failure_of([&] { EXPECT_FALSE(theirs.try_lock()); });
  EXPECT_FALSE(failure) << failure.text;
  EXPECT_TRUE(record->told(Record::Kind::renewed, record->count(Record::Kind::renewed) + 1))
      << "where it is";
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.release(), Released::released);
  // Without a channel there it asks: once a second.
  ASSERT_TRUE(comes(served, 2s));
  EXPECT_EQ(waiter.release(), Released::released);
  cluster().end_move(slot, to);
  ASSERT_TRUE(taken_within(lock, 3s));
  EXPECT_EQ(lock.release(), Released::released);
}

// While its slot leaves a server, a key that a script has emptied there cannot be filled again.
// Method: the scripts alone, so that the only waiter has no channel.
// Promise: L5
TEST_F(RedisClusterMoves, AReleaseKeepsTheOnlyPlaceInAQueueThatIsAboutToLeave) {
  cluster({.masters = 3, .replicas = 0});
  const std::uint16_t slot = cluster().slot_of("a");
  RedisTalk talk = cluster().talk(cluster().master_of("a"));
  const auto call = [&](const redis::Script& script, const RedisTalk::Command& words) {
    RedisTalk::Command command{"EVAL", redis::cluster_text(script), "1", key("a")};
    command.insert(command.end(), words.begin(), words.end());
    return talk.expect_ok(command).items.front().text;
  };
  const auto asks = [&](const std::string& attempt, const char* flags) {
    return call(redis::scripts::acquire,
                {attempt, "9000000000000000", "30000", "3630000", "label", flags});
  };
  const std::string owner = std::string(16, 'a') + "1";
  // A release to a reader takes the long way.
  for (const char* const kind : {"w fair wait", "r fair wait"}) {
    const std::string waiter = std::string(16, 'b') + kind[0];
    ASSERT_EQ(asks(owner, "w fair wait"), "granted");
    ASSERT_EQ(asks(waiter, kind), "queued");
    cluster().begin_move(slot, other_than(cluster().master_of("a")));
    const std::string number = talk.command({"HGET", key("a"), test::stored_field("grant")}).text;
    EXPECT_EQ(call(redis::scripts::release, {owner, number, "3602000", "fair"}), "released")
        << kind;
    EXPECT_EQ(talk.command({"HEXISTS", key("a"), test::stored_field("lease")}).integer, 0) << kind;
    EXPECT_EQ(talk.command({"ZCARD", key("a") + ":queue"}).integer, 1) << kind;
    talk.expect_ok({"CLUSTER", "SETSLOT", std::to_string(slot), "STABLE"});
    talk.expect_ok({"DEL", key("a"), key("a") + ":queue", key("a") + ":waiters"});
  }
}

// A server cannot judge the readers that it no longer has. Method: the scripts alone, while the
// keys next to the hash are at another server. Promise: S3
TEST_F(RedisClusterMoves, AServerWithoutTheReadersEndsNoneAndSaysSo) {
  cluster({.masters = 3, .replicas = 0});
  const std::uint16_t slot = cluster().slot_of("a");
  RedisTalk talk = cluster().talk(cluster().master_of("a"));
  const auto call = [&](const redis::Script& script, const RedisTalk::Command& words) {
    RedisTalk::Command command{"EVAL", redis::cluster_text(script), "1", key("a")};
    command.insert(command.end(), words.begin(), words.end());
    const RedisAnswer answer = talk.command(command);
    return answer.is_error() || answer.items.empty() ? answer.text : answer.items[0].text;
  };
  const std::string reader = std::string(16, 'a') + "1";
  const std::string owner = std::string(16, 'b') + "1";
  const auto asks = [&](const std::string& attempt, const char* flags) {
    return call(redis::scripts::acquire,
                {attempt, "9000000000000000", "30000", "3630000", "label", flags});
  };
  ASSERT_EQ(asks(reader, "r fair wait"), "granted");
  const std::string number = talk.command({"HGET", key("a"), test::stored_field("grant")}).text;
  cluster().begin_move(slot, other_than(cluster().master_of("a")));
  // To this server it is the same whether the keys were moved or deleted.
  talk.expect_ok({"DEL", key("a") + ":readers", key("a") + ":reader_info"});
  EXPECT_THAT(call(redis::scripts::force_release, {number, "3602000"}), HasSubstr("TRYAGAIN"));
  EXPECT_THAT(call(redis::scripts::release, {reader, number, "3602000", "fair"}),
              HasSubstr("TRYAGAIN"));
  EXPECT_THAT(call(redis::scripts::cancel, {reader, "3602000"}), HasSubstr("TRYAGAIN"));
  // The lease of the last reader is over: then no server has a reader's hold.
  talk.expect_ok({"HSET", key("a"), "readers_until", "1"});
  EXPECT_EQ(call(redis::scripts::force_release, {number, "3602000"}), "not_held");
  EXPECT_EQ(call(redis::scripts::release, {reader, number, "3602000", "fair"}), "not_held");
  talk.expect_ok({"HDEL", key("a"), "readers_until"});
  EXPECT_EQ(call(redis::scripts::release, {owner, "1", "3602000", "fair"}), "not_held")
      << "a lock without readers";
  talk.expect_ok({"CLUSTER", "SETSLOT", std::to_string(slot), "STABLE"});
}

// Promise: L7
TEST_F(RedisClusterMoves, APlannedFailOverCostsNothing) {
  cluster();
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 6s});
  lock.lock();
  const Token token = lock.token();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(comes_to_listen("a"));
  const std::size_t replica = cluster().replica_of(cluster().master_of("a"));
  cluster().fail_over(replica);
  ASSERT_TRUE(eventually([&] { return cluster().master_of("a") == replica; }));
  EXPECT_TRUE(comes_to_listen("a")) << "at the new master";
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.release(), Released::released);
  ASSERT_TRUE(comes(served, 1500ms));
  EXPECT_GT(served.get().value(), token.value());
  EXPECT_EQ(waiter.release(), Released::released);
}

// Promise: L4
TEST_F(RedisClusterMoves, AKilledMasterIsReplacedAndItsHoldsAndWaitersGoOn) {
  cluster();
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 15s});
  lock.lock();
  const Token token = lock.token();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(comes_to_listen("a"));
  // The replica has it: nothing is lost.
  const std::size_t master = cluster().master_of("a");
  ASSERT_TRUE(eventually([&] {
    return cluster().talk(master).expect_ok({"WAIT", "1", "1000"}).integer == 1;
  }));
  cluster()[master].kill();
  cluster().wait_for_fail_over(master);
  ASSERT_TRUE(eventually([&] { return lock.valid_for() > 10s; }, 10s)) << "renewed";
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.release(), Released::released);
  ASSERT_TRUE(comes(served, 3s));
  EXPECT_GT(served.get().value(), token.value());
  EXPECT_EQ(waiter.release(), Released::released);
  // It comes back as a replica.
  cluster()[master].start();
  cluster().wait_until_settled();
  ASSERT_TRUE(taken_within(lock, 3s));
  EXPECT_EQ(lock.release(), Released::released);
}

// CLUSTERDOWN: nobody takes over, so that the others refuse, too.
TEST_F(RedisClusterMoves, AClusterThatIsDownIsUnavailableInItsWordsAndItPasses) {
  cluster({.masters = 3, .replicas = 0});
  Client mine = client();
  mine.check(patience);
  const std::string name = name_of(1);
  Lock lock = mine.make_lock(name);
  cluster()[0].kill();
  Failure failure;
  EXPECT_TRUE(eventually([&] {
    failure = failure_of([&] {
      if (lock.try_lock_for(200ms)) lock.unlock();
    });
    return failure.text.find("CLUSTERDOWN") != std::string::npos;
  })) << failure.text;
  EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
  cluster()[0].start();
  cluster().wait_until_settled();
  EXPECT_TRUE(taken_within(lock, 3s));
  EXPECT_EQ(lock.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
