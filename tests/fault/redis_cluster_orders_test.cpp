// SPDX-License-Identifier: MIT
// Goal: in whatever order a client hears of a cluster's changes, by its connections and from its
// servers, it believes nothing that is not so, and nothing is left behind. Method: a cluster of the
// test's own, and a backend whose connections the test reads one by one.
#include "fault/redis_cluster_fixture.hpp"
#include "redis/store/scripts.hpp"
#include "support/hand_host.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <memory>

namespace mortise::fault {
namespace {

using test::HandHost;

class RedisClusterOrders : public RedisClusterTest {
 protected:
  /// Begins with one server, which knows the others.
  void begin(std::size_t seed) {
    backend_ =
        redis::backend("redis+cluster://127.0.0.1:" + std::to_string(cluster()[seed].port()));
    backend_->start(host_);
  }
  void TearDown() override {
    if (backend_) backend_->stop();
  }
  [[nodiscard]] std::shared_ptr<Acquisition> asked(const std::string& name, bool wait) {
    auto attempt = std::make_shared<Acquisition>(Acquisition::Request{
        .attempt = {1, 2, ++attempts_}, .name = name, .lease = 30s, .wait = wait});
    backend_->acquire(attempt);
    return attempt;
  }
  /// Who holds it is told, and who has which slot.
  void look_at(const std::string& name) {
    const auto inspection = std::make_shared<Inspection>(name);
    backend_->inspector()->inspect(inspection);
    ASSERT_TRUE(host_.run_until([&] { return inspection->done(); }));
    ASSERT_FALSE(inspection->failure()) << inspection->failure().text;
    settle();
  }
  /// @return the clock of a server, in us.
  [[nodiscard]] std::int64_t time_of(std::size_t server) {
    const RedisAnswer time = cluster().talk(server).expect_ok({"TIME"});
    return std::stoll(time.items.at(0).text) * 1'000'000 + std::stoll(time.items.at(1).text);
  }
  /// Nothing is under way any more.
  void settle() {
    EXPECT_FALSE(host_.run_until([] { return false; }, HandHost::all, 150ms));
  }
  [[nodiscard]] static int port_of(int descriptor) {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
    return address.sin_family == AF_INET ? ntohs(address.sin_port) : 0;
  }
  /// Throws away what that server has answered, and breaks the connection.
  void cut_off(std::size_t server) {
    for (const Source* const source : host_.sources()) {
      const int descriptor = source->descriptor();
      if (descriptor < 0 || port_of(descriptor) != cluster()[server].port()) continue;
      std::array<char, 4096> bytes{};
      while (::recv(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
      }
      ::shutdown(descriptor, SHUT_RDWR);
    }
  }
  /// The same, when it has answered.
  void lose_answer_of(std::size_t server) {
    for (const Source* const source : host_.sources()) {
      const int descriptor = source->descriptor();
      if (descriptor < 0 || port_of(descriptor) != cluster()[server].port()) continue;
      pollfd polled{.fd = descriptor, .events = POLLIN, .revents = 0};
      ASSERT_EQ(::poll(&polled, 1, 5'000), 1);
    }
    cut_off(server);
  }
  /// @return the words of the last script that a server has run for a name; it notes them since
  /// `slowlog-log-slower-than` is 0.
  [[nodiscard]] std::vector<std::string> last_call(std::size_t server, const std::string& name) {
    RedisTalk talk = cluster().talk(server);
    for (const RedisAnswer& entry : talk.expect_ok({"SLOWLOG", "GET", "50"}).items) {
      std::vector<std::string> words;
      for (const RedisAnswer& word : entry.items.at(3).items) words.push_back(word.text);
      if (words.size() > 6 && words[0].starts_with("EVAL") && words[3] == key(name)) return words;
    }
    return {};
  }
  [[nodiscard]] static std::ptrdiff_t descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  }
  /// @return whether that master says that it has one.
  [[nodiscard]] bool knows_of_a_replica(std::size_t master) {
    RedisTalk talk = cluster().talk(master);
    for (const RedisAnswer& range : talk.expect_ok({"CLUSTER", "SLOTS"}).items) {
      if (range.items.at(2).items.at(1).integer != cluster()[master].port()) continue;
      return range.items.size() > 3;
    }
    return false;
  }
  [[nodiscard]] bool is_replica(std::size_t server) {
    return cluster().talk(server).info("replication")["role"] == "slave";
  }

  HandHost host_;
  std::unique_ptr<Backend> backend_;
  std::uint64_t attempts_ = 0;
};

// A server that was its master takes a subscription as the replica that it is by now, and passes on
// what the new one says: that it grants the name. But nobody listens at the new one, which finds
// that out only by saying so, and grants nothing.
// Promise: S1
TEST_F(RedisClusterOrders, AGrantThatAReplicaPassesOnIsNotBelievedBeforeItsMasterIsAsked) {
  cluster();
  const std::size_t master = cluster().master_of("a");
  const std::size_t replica = cluster().replica_of(master);
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  begin(master);
  ASSERT_NO_FATAL_FAILURE(look_at("a"));
  // The master's answer lies unread until it is none any more.
  const auto waiter = asked("a", true);
  ASSERT_TRUE(come_to_wait("a"));
  cluster().fail_over(replica);
  ASSERT_TRUE(eventually([&] { return is_replica(master) && knows_of_a_replica(replica); }));
  ASSERT_TRUE(host_.run_until([&] { return waiter->progress() == Acquisition::Progress::queued; }));
  // It listens there, and what it asks then is not answered yet.
  const auto listens = [&] {
    RedisTalk talk = cluster().talk(master);
    return !talk.expect_ok({"PUBSUB", "SHARDCHANNELS", "*{a}"}).items.empty();
  };
  ASSERT_TRUE(host_.run_until(listens, HandHost::those_of_pushes));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_FALSE(host_.run_until([&] { return waiter->done(); }, HandHost::those_of_pushes, 500ms))
      << "believes in a grant that nobody has made";
  ASSERT_TRUE(host_.run_until([&] { return waiter->done(); }));
  EXPECT_FALSE(waiter->failure()) << waiter->failure().text;
  EXPECT_NE(waiter->grant().number, 0U);
  EXPECT_EQ(
      cluster().talk(replica).command({"HEXISTS", key("a"), test::stored_field("lease")}).integer,
      1)
      << "held";
}

// Addresses come and go, as where each start of a server has a new one: what was once a server is
// neither polled nor has it a descriptor.
TEST_F(RedisClusterOrders, AServerThatHasLeftCostsNothing) {
  cluster();
  const std::size_t master = cluster().master_of("a");
  const std::size_t replica = cluster().replica_of(master);
  begin(master);
  ASSERT_NO_FATAL_FAILURE(look_at("a"));
  const std::size_t sources = host_.sources().size();
  const std::ptrdiff_t open = descriptors();
  cluster().fail_over(replica);
  ASSERT_TRUE(eventually([&] { return is_replica(master); }));
  ASSERT_NO_FATAL_FAILURE(look_at("a"));
  EXPECT_EQ(host_.sources().size(), sources + 1) << "both";
  for (int i = 0; i < 3; ++i) {
    host_.step(11s);
    settle();
  }
  EXPECT_EQ(host_.sources().size(), sources);
  EXPECT_EQ(descriptors(), open);
  // It is met again as any other.
  cluster().fail_over(master);
  ASSERT_TRUE(eventually([&] { return is_replica(replica); }));
  ASSERT_NO_FATAL_FAILURE(look_at("a"));
}

// ASK, and the connection to there breaks: who sent it there may have it again, or nobody.
TEST_F(RedisClusterOrders, ATryThatIsLostWhereItWasSentForOnceIsMadeAgain) {
  cluster({.masters = 3, .replicas = 0});
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  const std::uint16_t slot = cluster().slot_of("a");
  const std::size_t from = cluster().master_of("a");
  const std::size_t to = (from + 1) % 3;
  begin(from);
  ASSERT_NO_FATAL_FAILURE(look_at("a"));
  ASSERT_NO_FATAL_FAILURE(look_at(name_of(to)));
  cluster().begin_move(slot, to);
  cluster().move_keys(slot, to);
  const auto attempt = asked("a", false);
  const auto calls = [&] {
    return cluster().talk(to).expect_ok({"INFO", "commandstats"}).text.find("cmdstat_asking") !=
           std::string::npos;
  };
  ASSERT_TRUE(host_.run_until(calls));
  ASSERT_FALSE(attempt->done());
  lose_answer_of(to);
  ASSERT_TRUE(host_.run_until([&] { return attempt->done(); }, HandHost::all, 3s));
  EXPECT_FALSE(attempt->failure()) << attempt->failure().text;
  EXPECT_EQ(attempt->grant().number, 0U) << "it is held";
  cluster().end_move(slot, to);
  EXPECT_EQ(lock.release(), Released::released);
}

// A request of which no answer came may be executed late: also where its name has gone. There it is
// void by that server's clock.
// Promise: S5
TEST_F(RedisClusterOrders, ALateCopyIsRefusedWhereItsNameHasGone) {
  cluster({.masters = 3, .replicas = 0});
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  const std::uint16_t slot = cluster().slot_of("a");
  const std::size_t from = cluster().master_of("a");
  const std::size_t to = (from + 1) % 3;
  begin(from);
  ASSERT_NO_FATAL_FAILURE(look_at(name_of(to)));
  cut_off(from);
  ASSERT_NO_FATAL_FAILURE(look_at("a"));
  cluster().talk(from).expect_ok({"CONFIG", "SET", "slowlog-log-slower-than", "0"});
  const auto waiter = asked("a", true);
  ASSERT_TRUE(come_to_wait("a"));
  lose_answer_of(from);
  std::vector<std::string> copy = last_call(from, "a");
  ASSERT_FALSE(copy.empty());
  copy[0] = "EVAL";
  copy[1] = redis::cluster_text(redis::scripts::acquire);  // the log cuts it
  cluster().move(slot, to);
  ASSERT_TRUE(host_.run_until([&] { return waiter->progress() == Acquisition::Progress::queued; }));
  EXPECT_EQ(lock.release(), Released::released);
  ASSERT_TRUE(host_.run_until([&] { return waiter->done(); }));
  EXPECT_NE(waiter->grant().number, 0U);
  const std::int64_t moment = std::stoll(copy.at(5));
  ASSERT_TRUE(eventually([&] { return time_of(to) > moment; }));
  const RedisAnswer late = cluster().talk(to).command(copy);
  ASSERT_EQ(late.items.size(), 2U) << late.words();
  EXPECT_EQ(late.items[0].text, "too_late");
}

// A cluster that is down refuses new subscriptions, where it was told to. Those that stand are
// worth more than an answer to them.
TEST_F(RedisClusterOrders, ASubscriptionThatIsRefusedBreaksNoInbox) {
  RedisClusterOptions options{.masters = 3, .replicas = 0, .node_timeout = 500ms};
  options.each.lines = {"cluster-allow-pubsubshard-when-down no"};
  cluster(options);
  const std::string name = name_of(1);
  Client mine = client();
  Lock lock = mine.make_lock(name);
  lock.lock();
  Party waiter(client(), name);
  auto served = waiter.start();
  ASSERT_TRUE(comes_to_listen(name));
  RedisTalk talk = cluster().talk(1);
  cluster()[0].kill();
  ASSERT_TRUE(eventually([&] {
    return talk.expect_ok({"CLUSTER", "INFO"}).text.find("cluster_state:fail") != std::string::npos;
  }));
  talk.expect_ok({"CLIENT", "KILL", "TYPE", "pubsub"});
  const auto connected = [&] {
    return std::stoull(talk.info("stats").at("total_connections_received"));
  };
  ASSERT_TRUE(eventually([&] { return connections(1, true) == 1; })) << "there is an inbox again";
  const std::uint64_t before = connected();
  EXPECT_FALSE(happens_within([&] { return connected() > before + 2; }, 1s));
}

// A client that asks for nothing else is told of no change: its servers are as they were, but for
// the one that has become a replica, of which it reads that nothing is held there.
TEST_F(RedisClusterOrders, AListIsOfWhoHasTheNamesWhenItBegins) {
  cluster();
  const std::size_t master = cluster().master_of("a");
  const std::size_t replica = cluster().replica_of(master);
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  Client administrator = client();
  EXPECT_THAT(administrator.list("a").names, ::testing::ElementsAre("a"));
  cluster().fail_over(replica);
  ASSERT_TRUE(eventually([&] { return is_replica(master); }));
  // Also where whom it asks has not heard of that yet.
  const auto list_at = [&](std::size_t server) {
    return cluster().talk(server).command(
        {"EVAL", redis::cluster_text(redis::scripts::list), "0", "0", "mortise:{*}", "100", ""});
  };
  EXPECT_THAT(list_at(master).text, ::testing::StartsWith("READONLY"));
  const RedisAnswer page = list_at(replica);
  ASSERT_EQ(page.items.size(), 2U) << page.words();
  EXPECT_EQ(page.items[1].text, "mortise:{a}");
  std::vector<std::string> told;
  ListOptions options;
  do {
    NamePage names = administrator.list("a", options);
    told.insert(told.end(), names.names.begin(), names.names.end());
    options.cursor = names.cursor;
  } while (!options.cursor.empty());
  EXPECT_THAT(told, ::testing::ElementsAre("a"));
  EXPECT_EQ(lock.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
