// SPDX-License-Identifier: MIT
// Goal: a Redis Cluster is many servers to the client and one store to its user: each name is asked
// for where it lies, and only there. Method: a cluster of the test's own, and looks at its servers.
#include "fault/redis_cluster_fixture.hpp"
#include "redis/store/scripts.hpp"
#include "support/certificates.hpp"
#include "support/redis_store.hpp"

#include <algorithm>
#include <deque>
#include <future>
#include <map>
#include <set>

namespace mortise::fault {
namespace {

class RedisClusterNames : public RedisClusterTest {};

TEST_F(RedisClusterNames, OnlyServersThatAreUsedHaveConnections) {
  cluster({.masters = 3, .replicas = 0});
  Client mine = client();
  Lock lock = mine.make_lock(name_of(1));
  lock.lock();
  EXPECT_TRUE(eventually([&] { return connections(1, false) == 1; }));
  EXPECT_EQ(connections(2, false), 0U);
  EXPECT_EQ(connections(0, true) + connections(1, true) + connections(2, true), 0U)
      << "nobody waits: no inbox";
  Party waiter(client(), name_of(1));
  auto served = waiter.start();
  ASSERT_TRUE(comes_to_listen(name_of(1)));
  EXPECT_EQ(connections(1, true), 1U);
  EXPECT_EQ(connections(0, true) + connections(2, true), 0U);
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(comes(served, 500ms)) << "told by a message";
  EXPECT_EQ(waiter.release(), Released::released);
}

// What a hand-off costs: one message to one subscriber, and none over the bus but to the replicas
// of the master that has the name.
TEST_F(RedisClusterNames, AHandOverIsNotSentToEveryServer) {
  constexpr int rounds = 100;
  const std::string name = "hot";
  const std::string prefix = "cluster_stats_messages_publish";
  cluster();
  Party a(client(), name);
  Party b(client(), name);
  static_cast<void>(a.start().get());
  auto next = b.start();
  ASSERT_TRUE(comes_to_listen(name));
  const auto sent = cluster().sum(prefix + "shard_sent");
  const auto broadcast = cluster().sum(prefix + "_sent");
  const auto received = cluster().sum(prefix + "shard_received");
  Party* holder = &a;
  Party* waiter = &b;
  for (int i = 0; i < rounds; ++i) {
    ASSERT_EQ(holder->release(), Released::released);
    ASSERT_TRUE(comes(next));
    std::swap(holder, waiter);
    next = waiter->start();
    ASSERT_TRUE(come_to_wait(name));
    if (i == 0) {
      ASSERT_TRUE(eventually([&] {
        const std::string pattern = "*{" + name + "}";
        RedisTalk talk = cluster().talk(cluster().master_of(name));
        return talk.expect_ok({"PUBSUB", "SHARDCHANNELS", pattern}).items.size() == 2;
      }));
    }
  }
  EXPECT_EQ(cluster().sum(prefix + "_sent"), broadcast) << "no plain channel";
  const auto each = static_cast<double>(cluster().sum(prefix + "shard_sent") - sent) / rounds;
  RecordProperty("bus messages a hand-off", std::to_string(each));
  EXPECT_LE(each, 1.1) << "to the one replica of that master";
  EXPECT_LE(cluster().sum(prefix + "shard_received") - received, 1.1 * rounds);
  EXPECT_EQ(holder->release(), Released::released);
  EXPECT_TRUE(comes(next));
  EXPECT_EQ(waiter->release(), Released::released);
}

// Promise: L6
TEST_F(RedisClusterNames, WaitersOfOneNameAreServedInTheirOrder) {
  cluster({.masters = 3, .replicas = 0});
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  std::deque<Party> waiters;
  std::vector<std::future<Token>> tokens;
  for (std::size_t i = 0; i < 8; ++i) {
    waiters.emplace_back(client(), "a");
    tokens.push_back(waiters.back().start());
    ASSERT_TRUE(come_to_wait("a", i + 1));
  }
  Token last = lock.token();
  EXPECT_EQ(lock.release(), Released::released);
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    ASSERT_TRUE(comes(tokens[i])) << i;
    const Token token = tokens[i].get();
    EXPECT_GT(token.value(), last.value());
    last = token;
    EXPECT_EQ(waiters[i].release(), Released::released);
  }
}

// A renewal is for holds of many slots.
TEST_F(RedisClusterNames, HoldsOfManySlotsAreRenewed) {
  cluster({.masters = 3, .replicas = 0});
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  std::deque<Lock> locks;
  for (int i = 0; i < 100; ++i) {
    locks.push_back(mine.make_lock("held" + std::to_string(i), {.lease = 2s}));
    locks.back().lock();
  }
  // Each of them twice; a batch that is renewed as a whole, or not at all, is no part of that.
  ASSERT_TRUE(eventually([&] {
    std::map<std::string, int> renewals;
    for (const auto& each : record->all(Record::Kind::renewed)) ++renewals[each.name];
    return renewals.size() == locks.size() &&
           std::all_of(renewals.begin(), renewals.end(),
                       [](auto& each) { return each.second >= 2; });
  }));
  for (Lock& lock : locks) {
    EXPECT_FALSE(lock.lost().stop_requested());
    EXPECT_GT(lock.valid_for(), 0s);
    EXPECT_EQ(lock.release(), Released::released);
  }
}

TEST_F(RedisClusterNames, AListHasTheNamesOfAllServers) {
  cluster({.masters = 3, .replicas = 0});
  Client mine = client();
  std::deque<Lock> locks;
  std::set<std::string> names;
  for (int i = 0; i < 60; ++i) {
    names.insert("held" + std::to_string(i));
    locks.push_back(mine.make_lock("held" + std::to_string(i)));
    locks.back().lock();
  }
  Client administrator = client();
  std::set<std::string> told;
  ListOptions options{.limit = 7};
  do {
    NamePage page = administrator.list("held", options);
    EXPECT_LE(page.names.size(), 7U);
    told.insert(page.names.begin(), page.names.end());
    options.cursor = page.cursor;
  } while (!options.cursor.empty());
  EXPECT_EQ(told, names);
  for (Lock& lock : locks) EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(RedisClusterNames, EitherKindOfServerRefusesTheOtherKindOfUrlInWords) {
  const test::RedisServer one;
  Client to_one("redis+cluster://127.0.0.1:" + std::to_string(one.port()));
  Failure failure = failure_of([&] { to_one.check(2s); });
  EXPECT_EQ(failure.code, Errc::misconfigured);
  EXPECT_THAT(failure.text, HasSubstr("use redis:// for a single server"));
  cluster({.masters = 1, .replicas = 0});
  Client to_node("redis://127.0.0.1:" + std::to_string(cluster()[0].port()));
  failure = failure_of([&] { to_node.check(2s); });
  EXPECT_EQ(failure.code, Errc::misconfigured);
  EXPECT_THAT(failure.text, HasSubstr("redis+cluster://"));
}

// The text that a cluster is sent is made of that for one server; by what it is called then is
// known from the build.
TEST_F(RedisClusterNames, ScriptsAreCalledByTheNameOfTheTextThatIsSent) {
  const test::RedisServer one;
  RedisTalk talk = one.talk();
  namespace scripts = redis::scripts;
  for (const redis::Script* const script :
       {&scripts::acquire, &scripts::cancel, &scripts::force_release, &scripts::inspect,
        &scripts::ask, &scripts::list, &scripts::queue, &scripts::release, &scripts::renew,
        &scripts::once::begin, &scripts::once::cancel, &scripts::once::conclude,
        &scripts::once::force_release, &scripts::once::queue, &scripts::once::recall}) {
    const std::string text = redis::cluster_text(*script);
    EXPECT_EQ(talk.expect_ok({"SCRIPT", "LOAD", text}).text, script->cluster_sha) << script->name;
    EXPECT_EQ(text.find("'PUBLISH'"), std::string::npos) << script->name;
    EXPECT_EQ(script->text.find("SPUBLISH"), std::string::npos) << script->name;
  }
}

/// Two clients hand a name of each master over.
void expect_hand_overs(const std::string& url, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    Client mine(url);
    Lock lock = mine.make_lock(name);
    ASSERT_TRUE(taken_within(lock, 5s)) << name;
    Party waiter(Client(url), name);
    auto served = waiter.start();
    EXPECT_TRUE(eventually([&] { return mine.queue(name).waiters.size() == 1; }));
    EXPECT_EQ(lock.release(), Released::released);
    ASSERT_TRUE(comes(served, 3s)) << name;
    EXPECT_EQ(waiter.release(), Released::released);
  }
}

TEST_F(RedisClusterNames, AreAskedForByTls) {
  const test::Certificates certificates;
  RedisClusterOptions options{.masters = 3, .replicas = 0};
  options.each.tls = test::RedisServerOptions::Tls::server_certificate;
  options.each.certificates = &certificates;
  cluster(options);
  expect_hand_overs(cluster().tls_url("ca=" + certificates.ca()),
                    {name_of(0), name_of(1), name_of(2)});
}

// What docs/stores/redis.md says is enough, and each of it is needed; as on one server otherwise:
// redis_missing_rights_test.cpp.
TEST_F(RedisClusterNames, NeedTheRightsOfTheManualAndNoMore) {
  RedisClusterOptions options{.masters = 3, .replicas = 0};
  options.each.users = {"shop on >Xu8 " + contract::least_redis_privilege() +
                        " +ssubscribe +sunsubscribe +spublish +cluster|slots +asking -publish"};
  cluster(options);
  const std::string url =
      "redis+cluster://shop:Xu8@127.0.0.1:" + std::to_string(cluster()[0].port());
  expect_hand_overs(url, {name_of(0), name_of(1), name_of(2)});
  Client holder(url);
  Lock held = holder.make_lock("a");
  held.lock();
  for (const std::string right :
       {"spublish", "cluster|slots", "asking", "ssubscribe", "sunsubscribe"}) {
    const auto change = [&](const std::string& sign) {
      for (std::size_t i = 0; i < cluster().size(); ++i) {
        cluster().talk(i).expect_ok({"ACL", "SETUSER", "shop", sign + right});
      }
    };
    change("-");
    Client mine(url);
    Failure failure;
    EXPECT_LT(own_duration_of([&] {
                failure =
                    failure_of([&] { static_cast<void>(mine.make_lock("a").try_lock_for(3s)); });
              }),
              1s)
        << right;
    EXPECT_EQ(failure.code, Errc::denied) << right << ": " << failure.text;
    EXPECT_THAT(failure.text, HasSubstr("; user 'shop' needs +" + right + ": "));
    EXPECT_THAT(failure.text, Not(HasSubstr("Xu8")));
    change("+");
  }
  EXPECT_EQ(held.release(), Released::released);
}

TEST_F(RedisClusterNames, AnySeedThatAnswersLeadsToAll) {
  cluster();
  const std::string replica = std::to_string(cluster()[5].port());
  // The first one is nobody's; the second is a replica.
  Client mine("redis+cluster://127.0.0.1:1,127.0.0.1:" + replica);
  for (std::size_t master = 0; master < 3; ++master) {
    Lock lock = mine.make_lock(name_of(master));
    ASSERT_TRUE(taken_within(lock, 5s)) << master;
    EXPECT_EQ(lock.release(), Released::released);
  }
}

}  // namespace
}  // namespace mortise::fault
