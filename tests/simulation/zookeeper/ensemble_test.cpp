// SPDX-License-Identifier: MIT
// Goal: an ensemble of the model elects, replicates, is cut and ends sessions as the header says.
// Method: clients that are strings, in virtual time, over many seeds.
#include "simulation/zookeeper/ensemble.hpp"

#include "simulation/zookeeper/beside/channels.hpp"
#include "simulation/zookeeper/beside/client.hpp"
#include "simulation/zookeeper/numbers.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace simulation::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t seeds = 20;
constexpr auto long_enough = 60s;  // for an election after every time-out

/// Servers with a leader, and everyone following.
class Servers {
 public:
  explicit Servers(std::uint64_t seed, std::size_t count = 3) : place_(count, seed) { settle(); }

  void settle() {
    const bool all = place_.sites().run_until(
        [&] {
          for (std::size_t i = 0; i < size(); ++i) {
            if (!place_.ensemble().peer(i).serving()) return false;
          }
          return place_.ensemble().leader().has_value();
        },
        long_enough);
    EXPECT_TRUE(all) << "no leader that all follow";
  }
  [[nodiscard]] std::size_t size() { return place_.ensemble().size(); }
  [[nodiscard]] std::size_t leader() { return place_.ensemble().leader().value(); }
  [[nodiscard]] std::size_t follower(std::size_t which = 1) { return (leader() + which) % size(); }
  [[nodiscard]] ModelPlace& place() { return place_; }
  [[nodiscard]] Ensemble& all() { return place_.ensemble(); }
  [[nodiscard]] VirtualSites& sites() { return place_.sites(); }
  void restart(std::size_t which, bool keeps_data) {
    sites().restart(which);
    all().server(which).restarted(keeps_data);
  }

 private:
  ModelPlace place_;
};

TEST(ZooKeeperModel, FollowersServeWhatIsWrittenElsewhere) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Servers servers(seed);
    Client one(servers.place(), servers.follower(1), 10s);
    Client other(servers.place(), servers.follower(2), 10s);
    ASSERT_EQ(one.ask(op::create, create_body("/q", flag::persistent)).code, code::ok);
    ASSERT_EQ(other.ask(op::sync, path_body("/")).code, code::ok);
    EXPECT_EQ(other.ask(op::exists, watch_body("/q", true)).code, code::ok);
    ASSERT_EQ(one.ask(op::remove, version_body("/q", -1)).code, code::ok);
    ASSERT_EQ(other.ask(op::sync, path_body("/")).code, code::ok);
    EXPECT_EQ(other.ask(op::exists, watch_body("/q", false)).code, code::no_node);
    EXPECT_EQ(other.take_events().size(), 1U) << "the watch is told before";
    EXPECT_EQ(servers.all().sessions(), 2U);
  }
}

// The queue's first node is gone for the leader, and for whoever follows it, while the follower
// that is cut off goes on showing it to its owner: two that believe to hold the lock.
TEST(ZooKeeperModel, AFollowerThatIsCutOffAnswersReadsWhileTheLeaderEndsItsSessions) {
  std::chrono::nanoseconds both{};
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Servers servers(seed);
    const std::size_t cut = servers.follower(1);
    Client holder(servers.place(), cut, 6s);
    Client waiter(servers.place(), servers.follower(2), 10s);
    ASSERT_EQ(holder.ask(op::create, create_body("/q", flag::persistent)).code, code::ok);
    const std::string mine = made_by(holder.ask(op::create_2, queue_node()));
    ASSERT_EQ(waiter.ask(op::sync, path_body("/")).code, code::ok);
    const std::string theirs = made_by(waiter.ask(op::create_2, queue_node()));
    ASSERT_EQ(servers.all().who_holds("/q")->session, holder.welcome().session);

    servers.all().cut(cut, true);
    const auto began = servers.sites().now();
    bool answered = true;
    std::size_t after_the_end = 0;
    while (answered && servers.sites().now() < began + 30s) {
      servers.place().wait(500ms);
      waiter.ask(op::ping);
      const bool over = servers.all().who_holds("/q")->session == waiter.welcome().session;
      try {
        EXPECT_EQ(holder.ask(op::exists, watch_body(mine, false)).code, code::ok);
        if (over) ++after_the_end;
      } catch (const std::runtime_error&) {
        answered = false;  // it has noticed, and hung up
      }
    }
    EXPECT_GT(after_the_end, 2U) << "seed " << seed;
    EXPECT_GT(servers.sites().now() - began, 9s);
    EXPECT_LT(servers.sites().now() - began, 13s);
    EXPECT_FALSE(holder.connect(cut)) << "it looks for a leader";
    EXPECT_FALSE(holder.expired());
    EXPECT_FALSE(holder.connect(servers.leader()));
    EXPECT_TRUE(holder.expired());
    servers.all().cut(cut, false);
    servers.settle();
    EXPECT_EQ(servers.all().who_holds("/q")->node, name_of(theirs));
  }
}

TEST(ZooKeeperModel, ASyncAndAWriteAreNotAnsweredByAFollowerThatIsCutOff) {
  for (const std::int32_t type : {op::sync, op::set_data}) {
    Servers servers(7);
    const std::size_t cut = servers.follower(1);
    Client client(servers.place(), cut, 10s);
    servers.all().cut(cut, true);
    client.send(type, type == op::sync ? path_body("/") : data_body("/", "x", -1));
    client.send(op::exists, watch_body("/", false));
    EXPECT_THROW(client.receive(), std::runtime_error) << "nor what comes behind it";
  }
}

// It answers whatever does not need the others, sync too, until it notices.
TEST(ZooKeeperModel, ALeaderThatIsCutOffAnswersSyncAndCommitsNothing) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Servers servers(seed);
    const std::size_t before = servers.leader();
    Client client(servers.place(), before, 20s);
    servers.all().cut(before, true);
    servers.place().wait(3s);
    EXPECT_EQ(client.ask(op::sync, path_body("/")).code, code::ok);
    EXPECT_EQ(client.ask(op::exists, watch_body("/", false)).code, code::ok);
    client.send(op::create, create_body("/lost", flag::persistent));
    EXPECT_THROW(client.receive(), std::runtime_error);
    ASSERT_TRUE(servers.sites().run_until(
        [&] { return servers.all().leader() && servers.all().leader() != before; }, long_enough));
    // What it had proposed, and nobody else has seen, is lost.
    EXPECT_TRUE(client.connect(servers.leader()));
    EXPECT_EQ(client.ask(op::exists, watch_body("/lost", false)).code, code::no_node);
    servers.all().cut(before, false);
    servers.settle();
    EXPECT_NE(servers.leader(), before);
    EXPECT_EQ(servers.all().peer(before).tree().find("/lost"), nullptr);
  }
}

TEST(ZooKeeperModel, WhatWasAnsweredOutlivesEveryLeader) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Servers servers(seed, seed % 2 == 0 ? 3 : 5);
    Client client(servers.place(), servers.follower(1), 40s);
    std::set<std::int64_t> epochs;
    for (int round = 0; round < 4; ++round) {
      const std::string path = "/n" + std::to_string(round);
      const Answer made = client.ask(op::create_2, create_body(path, flag::ephemeral));
      ASSERT_EQ(made.code, code::ok);
      epochs.insert(made.zxid >> epoch_bits);
      servers.restart(servers.leader(), true);
      servers.settle();
      while (!client.connect(servers.follower(1))) ASSERT_FALSE(client.expired());
      for (int i = 0; i <= round; ++i) {
        EXPECT_EQ(client.ask(op::exists, watch_body("/n" + std::to_string(i), false)).code,
                  code::ok);
      }
    }
    EXPECT_EQ(epochs.size(), 4U) << "each leader has an epoch of its own";
  }
}

TEST(ZooKeeperModel, AServerWithoutItsDataGetsItFromTheLeader) {
  Servers servers(3);
  const std::size_t which = servers.follower(1);
  Client client(servers.place(), servers.follower(2), 10s);
  ASSERT_EQ(client.ask(op::create, create_body("/a", flag::persistent)).code, code::ok);
  servers.restart(which, false);
  EXPECT_EQ(servers.all().peer(which).tree().find("/a"), nullptr);
  servers.settle();
  EXPECT_NE(servers.all().peer(which).tree().find("/a"), nullptr);
}

TEST(ZooKeeperModel, AClientThatHasSeenMoreIsSentElsewhere) {
  Servers servers(3);
  Client client(servers.place(), servers.follower(1), 10s);
  client.pretend_seen(client.ask(op::ping).zxid + 1);
  EXPECT_FALSE(client.connect(servers.follower(2)));
  EXPECT_FALSE(client.expired());
}

TEST(ZooKeeperModel, ASessionThatHasMovedMayNotWriteWhereItWas) {
  Servers servers(3);
  Client client(servers.place(), servers.follower(1), 10s);
  auto before = servers.place().connect(servers.follower(1));
  // The same session, once more: the old server learns of it by the leader's answer alone.
  before->send(greeting_frame(10'000, client.welcome().session, client.welcome().password));
  ASSERT_TRUE(before->next());
  ASSERT_TRUE(client.connect(servers.follower(2)));
  constexpr std::int32_t number = 77;  // another one than the client's own
  before->send(request_frame(number, op::create, create_body("/a", flag::persistent)));
  EXPECT_FALSE(before->next()) << "it is hung up on";
  EXPECT_EQ(client.ask(op::create, create_body("/a", flag::persistent)).code, code::ok);
}

TEST(ZooKeeperModel, ThrottledRequestsAreAnsweredByAnErrorAndNotDone) {
  Servers servers(3, 1);
  Client client(servers.place(), 0, 10s);
  servers.all().throttle(0, true);
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string path = "/t" + std::to_string(i);
    const Answer answer = client.ask(op::create, create_body(path, flag::persistent));
    if (answer.code == code::throttled) ++refused;
    EXPECT_EQ(servers.all().committed().find(path) == nullptr, answer.code == code::throttled);
  }
  EXPECT_GT(refused, 20);
  EXPECT_LT(refused, 80);
}

TEST(ZooKeeperModel, ContainersThatHadChildrenGo) {
  Servers servers(5);
  Client client(servers.place(), servers.follower(1), 40s);
  for (const char* const path : {"/used", "/unused"}) {
    ASSERT_EQ(client.ask(op::create_container, create_body(path, flag::container)).code, code::ok);
  }
  ASSERT_EQ(client.ask(op::create, create_body("/used/a", flag::persistent)).code, code::ok);
  const std::size_t before = servers.all().znodes();
  ASSERT_EQ(client.ask(op::remove, version_body("/used/a", -1)).code, code::ok);
  for (int i = 0; i < 10; ++i) {
    servers.place().wait(10s);
    client.ask(op::ping);
  }
  EXPECT_EQ(client.ask(op::exists, watch_body("/used", false)).code, code::no_node);
  EXPECT_EQ(client.ask(op::exists, watch_body("/unused", false)).code, code::ok);
  EXPECT_EQ(servers.all().znodes(), before - 2);
}

// The same seed, the same conversation, to the byte.
TEST(ZooKeeperModel, ASeedDecidesEverything) {
  const auto run = [](std::uint64_t seed) {
    Servers servers(seed);
    std::string out = std::to_string(servers.sites().now().count());
    Client client(servers.place(), servers.follower(1), 10s);
    servers.restart(servers.leader(), true);
    servers.settle();
    out += " " + std::to_string(servers.leader()) + " at " +
           std::to_string(servers.sites().now().count());
    static_cast<void>(client.connect(servers.follower(1)));
    return out + client.welcome().password + client.ask(op::create_2, create_body("/a", 1)).body;
  };
  EXPECT_EQ(run(11), run(11));
  EXPECT_NE(run(11), run(12));
}

double cpu_microseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// What a lock's cycle costs: a node of a queue, the queue's list, and the node's end.
double cycle(std::size_t count) {
  Servers servers(1, count);
  Client client(servers.place(), 0, 10s);
  EXPECT_EQ(client.ask(op::create, create_body("/q", flag::persistent)).code, code::ok);
  constexpr int rounds = 10'000;
  const double before = cpu_microseconds();
  for (int i = 0; i < rounds; ++i) {
    client.send(op::create_2, create_body("/q/0123456789abcdef-lock-", flag::ephemeral_sequential));
    client.send(op::get_children, watch_body("/q", false));
    const std::string made = made_by(client.receive());
    EXPECT_EQ(client.receive().code, code::ok);
    EXPECT_EQ(client.ask(op::remove, version_body(made, -1)).code, code::ok);
  }
  return (cpu_microseconds() - before) / rounds;
}

TEST(ZooKeeperModel, ACycleCostsMicroseconds) {
  const double one = cycle(1);
  const double three = cycle(3);
  std::cout << "a cycle: " << one << " us with one server, " << three << " us with three\n";
  EXPECT_LT(three, 200);  // far above what it is, for busy machines and sanitizers
}

}  // namespace
}  // namespace simulation::zookeeper
