// SPDX-License-Identifier: MIT
// Goal: a client knows which server has which slot, and whom to ask for that; who has left costs it
// nothing. Method: the table alone, with servers that nobody connects.
#include "redis/topology/cluster.hpp"
#include "support/fake_host.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace mortise::redis {
namespace {

using namespace std::chrono_literals;

class Nobody final : public Server::User {
  void is_up(Server& /*server*/) override {}
  void listens(Server& /*server*/) override {}
  void answered(Server& /*server*/, const Call& /*call*/, const Reply& /*reply*/) override {}
  bool admits(const Call& /*call*/) override { return true; }
  void matched(Server& /*server*/, const Call& /*call*/, const Reply& /*reply*/,
               Instant /*now*/) override {}
  void pushed(Server& /*server*/, const Reply& /*message*/) override {}
  void lost_commands(Server& /*server*/, const Failure& /*why*/, bool /*final*/, bool /*was_up*/,
                     std::list<Call> /*unanswered*/) override {}
  void lost_inbox(Server& /*server*/, const Failure& /*why*/, bool /*final*/) override {}
};

base::Address address(std::size_t number) {
  return {.host = "10.0.0." + std::to_string(number / 60'000),
          .port = static_cast<std::uint16_t>(1 + number % 60'000),
          .path = {}};
}

class RedisClusterTableTest : public ::testing::Test {
 protected:
  [[nodiscard]] static std::vector<SlotRange> all_to(const base::Address& master) {
    return {{.first = 0, .last = slot_count - 1, .master = master}};
  }

  /// @return who is asked.
  std::vector<Server*> look() {
    now_ += 1s;
    static_cast<void>(cluster_.want_look(now_));
    now_ += 1s;
    return cluster_.begin_look(now_);
  }
  Membership::Verdict answer(const std::string& host, std::uint16_t port, const NodeIds& nodes) {
    const Server& server = cluster_.at({.host = host, .port = port, .path = {}});
    last_ = cluster_.judge(server, {.ranges = all_to(server.identity().address()), .nodes = nodes});
    return last_.kind;
  }
  void agree() {
    ASSERT_EQ(look().size(), 2U);
    ASSERT_EQ(answer("seed-1", 7001, {"a1", "a2"}), Membership::Verdict::undecided);
    ASSERT_EQ(answer("seed-2", 7002, {"a1"}), Membership::Verdict::agreed);
    cluster_.end_look(true, now_);
    cluster_.end_look(true, now_);
  }

  Instant now_{1h};
  Cluster::Verdict last_;
  test::FakeHost host_;
  Nobody user_;
  Server::Shared shared_;
  const Settings settings_ = Settings::parse("redis+cluster://seed-1:7001,seed-2:7002");
  Cluster cluster_{settings_, [this](const Settings& settings) {
                     return std::make_unique<Server>(host_, settings, nullptr, shared_, user_);
                   }};
};

TEST_F(RedisClusterTableTest, EachSlotHasAServerFromTheBeginning) {
  EXPECT_EQ(cluster_.server_of("a").identity().address().text(), "seed-1:7001");
  EXPECT_FALSE(cluster_.is_told(Instant::min()));
  const auto changed = cluster_.learn({{.first = 0, .last = 99, .master = address(1)},
                                       {.first = 100, .last = 100, .master = address(2)}});
  EXPECT_EQ(changed.count(), 101U);
  EXPECT_TRUE(cluster_.is_told(Instant::min()));
  EXPECT_EQ(cluster_.server_of("a").identity().address().text(), "seed-1:7001")
      << "a hole stays as it was";
  EXPECT_TRUE(cluster_.moved(slot_of("a"), cluster_.at(address(1))));
  EXPECT_FALSE(cluster_.moved(slot_of("a"), cluster_.at(address(1)))) << "no news";
  EXPECT_EQ(cluster_.masters().size(), 3U);
}

TEST_F(RedisClusterTableTest, AServerThatIsMetHasNoDescriptor) {
  const auto open = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open();
  for (std::size_t i = 0; i < 2'000; ++i) {
    static_cast<void>(cluster_.learn(all_to(address(i))));
  }
  EXPECT_EQ(open(), before);
  EXPECT_EQ(host_.sources(), 0U);
  EXPECT_EQ(&cluster_.at(address(7)), &cluster_.at(address(7)));
}

// Each that is gone is silent for two seconds; and by its name a seed leads to who is there now.
TEST_F(RedisClusterTableTest, WhoHasLeftIsNotAskedWhoHasWhat) {
  for (std::size_t i = 0; i < 100; ++i) {
    static_cast<void>(cluster_.learn(all_to(address(i))));
  }
  agree();
  static_cast<void>(cluster_.learn(all_to(address(99))));
  std::set<std::string> asked;
  for (int i = 0; i < 3; ++i) {
    const std::vector<Server*> whom = look();
    ASSERT_EQ(whom.size(), 1U);
    asked.insert(whom.front()->identity().address().text());
    cluster_.end_look(true, now_);
  }
  EXPECT_EQ(asked, (std::set<std::string>{"seed-1:7001", "seed-2:7002", address(99).text()}));
}

TEST_F(RedisClusterTableTest, AServerOfAnotherClusterIsRefusedInWords) {
  agree();
  EXPECT_FALSE(cluster_.stranger());
  Server& seed = cluster_.at({.host = "seed-1", .port = 7001, .path = {}});
  const Failure why = cluster_.refuses(seed, {.nodes = {"0123456789abcdef"}});
  EXPECT_EQ(why.code, Errc::misconfigured);
  EXPECT_EQ(why.text,
            "redis seed-1:7001: the server belongs to another cluster (node 01234567); this client "
            "uses the cluster of nodes a1 a2; correct this address in the URL");
  EXPECT_EQ(cluster_.stranger().code, Errc::misconfigured);
  // The address of a master was given to somebody else: the next one has its slots before long.
  const Failure passes = cluster_.refuses(cluster_.at(address(1)), {.nodes = {"b1"}});
  EXPECT_EQ(passes.code, Errc::unavailable);
  EXPECT_FALSE(cluster_.refuses(seed, {.nodes = {"a1"}}));
  EXPECT_FALSE(cluster_.stranger());
}

TEST_F(RedisClusterTableTest, SeedsOfTwoClustersAreRefusedInWords) {
  ASSERT_EQ(look().size(), 2U);
  EXPECT_EQ(answer("seed-1", 7001, {"a1"}), Membership::Verdict::undecided);
  EXPECT_FALSE(cluster_.is_agreed());
  EXPECT_EQ(answer("seed-2", 7002, {"b1"}), Membership::Verdict::split);
  EXPECT_EQ(last_.why.code, Errc::misconfigured);
  EXPECT_EQ(last_.why.text,
            "the servers in the URL belong to several clusters: redis seed-1:7001 (node a1), redis "
            "seed-2:7002 (node b1); name servers of one cluster only");
  EXPECT_FALSE(cluster_.is_agreed());
}

// So a list does not begin with what was known before.
TEST_F(RedisClusterTableTest, WhatIsToldIsAsOldAsTheQuestion) {
  const Instant start{1h};
  EXPECT_TRUE(cluster_.want_look(start));
  EXPECT_EQ(cluster_.begin_look(start).size(), 2U) << "each that the user has named";
  static_cast<void>(cluster_.learn(all_to(address(1))));
  cluster_.end_look(true, start + 1s);
  cluster_.end_look(true, start + 1s);
  EXPECT_TRUE(cluster_.is_told(start));
  EXPECT_FALSE(cluster_.is_told(start + 1ns));
}

}  // namespace
}  // namespace mortise::redis
