// SPDX-License-Identifier: MIT
// Goal: a client uses what is usable of what servers say of their cluster, and nothing that another
// cluster says. Method: clusters of the test's own, a server of which comes back without its data.
#include "fault/redis_cluster_fixture.hpp"

#include <filesystem>

namespace mortise::fault {
namespace {

class RedisClusterStrangers : public RedisClusterTest {
 protected:
  static RedisClusterOptions masters(std::size_t count, std::size_t replicas = 0) {
    RedisClusterOptions options;
    options.masters = count;
    options.replicas = replicas;
    options.each.lines.emplace_back("cluster-require-full-coverage no");
    return options;
  }
  static std::string host_of(RedisCluster& cluster, std::size_t server) {
    return "127.0.0.1:" + std::to_string(cluster[server].port());
  }
  /// A hold that stood would be entered once more without asking a server.
  static void lock_and_unlock(Client& client, const std::string& name) {
    Lock lock = client.make_lock(name);
    ASSERT_TRUE(lock.try_lock_for(patience)) << name;
    EXPECT_EQ(lock.release(), Released::released) << name;
  }
  /// As a container that comes back without its volume: another node, at the same address.
  void bring_back_without_data(std::size_t server) {
    const std::string folder =
        cluster().talk(server).expect_ok({"CONFIG", "GET", "dir"}).items.at(1).text;
    cluster()[server].kill();
    std::filesystem::remove(folder + "/nodes.conf");
    cluster()[server].start();
  }
  /// @return whether that server says that a master has no address.
  [[nodiscard]] bool says_that_one_is_nowhere(std::size_t server) {
    RedisTalk talk = cluster().talk(server);
    for (const RedisAnswer& range : talk.expect_ok({"CLUSTER", "SLOTS"}).items) {
      if (range.items.at(2).items.at(1).integer == 0) return true;
    }
    return false;
  }
};

// Promise: L7
TEST_F(RedisClusterStrangers, AMasterWithoutAnAddressHidesNoFailOverOfAnother) {
  cluster(masters(5, 2));  // two of which are replaced in time
  const std::string name = name_of(1);
  const std::string nowhere = name_of(2);
  Client mine = client();
  lock_and_unlock(mine, name);
  lock_and_unlock(mine, nowhere);
  bring_back_without_data(2);
  ASSERT_TRUE(eventually([&] { return says_that_one_is_nowhere(0); }, 10s))
      << "or it proves nothing";
  cluster()[1].kill();
  cluster().wait_for_fail_over(1);
  lock_and_unlock(mine, name);
  const Failure failure =
      failure_of([&] { static_cast<void>(mine.make_lock(nowhere).try_lock_for(500ms)); });
  EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
  Client administrator = client();
  EXPECT_NO_THROW(static_cast<void>(administrator.list("")));
}

// Promise: S1
TEST_F(RedisClusterStrangers, AMastersAddressThatLeadsToAnotherClusterGrantsNothing) {
  cluster(masters(3));
  const std::string name = name_of(2);
  Client mine = client();
  Lock lock = mine.make_lock(name);
  lock_and_unlock(mine, name);
  bring_back_without_data(2);
  cluster().talk(2).expect_ok({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  const Failure failure = failure_of([&] { static_cast<void>(lock.try_lock_for(10s)); });
  EXPECT_EQ(failure.code, Errc::misconfigured) << failure.text;
  EXPECT_THAT(failure.text,
              HasSubstr(host_of(cluster(), 2) + ": the server belongs to another cluster"));
  EXPECT_EQ(cluster().talk(2).command({"EXISTS", key(name)}).integer, 0);
  lock_and_unlock(mine, name_of(0));  // the others are still there
  EXPECT_EQ(failure_of([&] { mine.check(patience); }).code, Errc::misconfigured);
}

// As `redis-cli --cluster del-node` does it: the node keeps its id, and its connections.
// Promise: S1
TEST_F(RedisClusterStrangers, ANodeThatWasMovedToAnotherClusterGrantsNothing) {
  cluster(masters(3, 1));
  std::string url = "redis+cluster://" + host_of(cluster(), 3);
  for (std::size_t i = 0; i < 3; ++i) url += "," + host_of(cluster(), i);
  Client mine(url);
  lock_and_unlock(mine, "a");
  RedisTalk moved = cluster().talk(3);
  const std::string id = moved.expect_ok({"CLUSTER", "MYID"}).text;
  for (std::size_t i = 0; i < 3; ++i) cluster().talk(i).expect_ok({"CLUSTER", "FORGET", id});
  moved.expect_ok({"CLUSTER", "RESET", "SOFT"});
  moved.expect_ok({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  ASSERT_EQ(moved.expect_ok({"CLUSTER", "MYID"}).text, id);
  ASSERT_TRUE(eventually([&] {
    return moved.command({"CLUSTER", "INFO"}).text.find("cluster_state:ok") != std::string::npos;
  })) << "or it proves nothing";
  for (std::size_t i = 0; i < 3; ++i) cluster()[i].kill();
  Lock lock = mine.make_lock("a");
  const Failure failure = failure_of([&] { static_cast<void>(lock.try_lock_for(3s)); });
  EXPECT_TRUE(failure);
  EXPECT_EQ(moved.command({"EXISTS", key("a")}).integer, 0);
}

// Promise: S1
TEST_F(RedisClusterStrangers, SeedsOfTwoClustersAreRefused) {
  cluster(masters(3));
  RedisCluster theirs(masters(3));
  Client mine("redis+cluster://" + host_of(theirs, 0) + "," + host_of(cluster(), 0));
  for (int i = 0; i < 3; ++i) {
    Failure failure;
    EXPECT_LT(own_duration_of([&] {
                failure =
                    failure_of([&] { static_cast<void>(mine.make_lock("a").try_lock_for(10s)); });
              }),
              2s);
    EXPECT_EQ(failure.code, Errc::misconfigured) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr("belong to several clusters: redis "));
  }
  EXPECT_EQ(failure_of([&] { static_cast<void>(mine.list("")); }).code, Errc::misconfigured);
  EXPECT_EQ(failure_of([&] { mine.check(10s); }).code, Errc::misconfigured);
}

// Promise: S1
TEST_F(RedisClusterStrangers, OfThreeSeedsTheOneOfAnotherClusterIsLeftOut) {
  cluster(masters(3));
  RedisCluster theirs(masters(3));
  for (int i = 0; i < 5; ++i) {
    Client mine("redis+cluster://" + host_of(theirs, 0) + "," + host_of(cluster(), 0) + "," +
                host_of(cluster(), 1));
    Lock lock = mine.make_lock("a");
    ASSERT_TRUE(lock.try_lock_for(patience));
    const std::size_t master = cluster().master_of("a");
    EXPECT_EQ(cluster().talk(master).command({"EXISTS", key("a")}).integer, 1);
    EXPECT_TRUE(eventually([&] {
      const Failure failure = failure_of([&] { mine.check(patience); });
      return failure.code == Errc::misconfigured &&
             failure.text.find(host_of(theirs, 0)) != std::string::npos;
    })) << "an operator is told";
    EXPECT_EQ(lock.release(), Released::released);
  }
}

// Promise: L7
TEST_F(RedisClusterStrangers, AClusterThatWasSetUpAnewIsUsed) {
  cluster(masters(3));
  Client mine = client();
  lock_and_unlock(mine, "a");
  for (std::size_t i = 0; i < 3; ++i) bring_back_without_data(i);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto slot = [](std::size_t at) { return std::to_string(16384 * at / 3); };
    const std::string last = std::to_string(16384 * (i + 1) / 3 - 1);
    cluster().talk(i).expect_ok({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    cluster().talk(i).expect_ok({"CLUSTER", "ADDSLOTSRANGE", slot(i), last});
    if (i == 0) continue;
    cluster().talk(0).expect_ok({"CLUSTER", "MEET", "127.0.0.1",
                                 std::to_string(cluster()[i].port()),
                                 std::to_string(cluster()[i].cluster_port())});
  }
  cluster().wait_until_settled();
  Lock lock = mine.make_lock("a");
  bool locked = false;
  EXPECT_TRUE(eventually([&] {
    static_cast<void>(failure_of([&] { locked = lock.try_lock_for(1s); }));
    return locked;
  }));
}

}  // namespace
}  // namespace mortise::fault
