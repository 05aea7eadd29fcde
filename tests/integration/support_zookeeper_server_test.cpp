// SPDX-License-Identifier: MIT
// Goal: the private ZooKeepers of the tests do what the tests rely on: they come and go by order,
// keep what they acknowledged, and the small client tells the truth about them. Method: use them.
#include "support/eventually.hpp"
#include "support/zookeeper_ensemble.hpp"
#include "support/zookeeper_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ZooKeeperSupport : public ::testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_ZOOKEEPER(); }
};

int error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ZooKeeperTalkError& error) {
    return error.code;
  }
  return 0;
}

TEST_F(ZooKeeperSupport, NodesAreMadeListedAndRemoved) {
  ZooKeeperTalk talk = ZooKeeperServer::shared().talk();
  const std::string root = "/" + ZooKeeperServer::fresh_root();
  talk.create_all(root + "/a/b");
  talk.create_all(root + "/a/b");
  EXPECT_EQ(talk.create(root + "/a/x-", ZooKeeperKind::ephemeral_sequential, "me"),
            root + "/a/x-0000000001");
  EXPECT_THAT(talk.children(root + "/a"), ElementsAre("b", "x-0000000001"));
  EXPECT_EQ(talk.data(root + "/a/x-0000000001"), "me");
  const auto stat = talk.stat(root + "/a/x-0000000001");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->owner, talk.session());
  EXPECT_GT(stat->created, 0);
  talk.set(root + "/a/b", "text");
  EXPECT_EQ(talk.data(root + "/a/b"), "text");
  EXPECT_EQ(error_of([&] { talk.remove(root); }), ZooKeeperTalk::not_empty);
  EXPECT_EQ(error_of([&] { talk.create(root); }), ZooKeeperTalk::node_exists);
  EXPECT_EQ(error_of([&] { talk.remove(root + "/none"); }), ZooKeeperTalk::no_node);
  talk.sync(root);
  talk.remove_all(root);
  EXPECT_FALSE(talk.stat(root));
  EXPECT_THAT(talk.children(root), IsEmpty());
}

TEST_F(ZooKeeperSupport, ASessionEndsInGoodOrderOrByItself) {
  ZooKeeperServer& server = ZooKeeperServer::shared();
  ZooKeeperTalk looks = server.talk();
  const std::string root = "/" + ZooKeeperServer::fresh_root();
  looks.create(root);
  {
    ZooKeeperTalk talk = server.talk();
    talk.create(root + "/a", ZooKeeperKind::ephemeral);
  }
  EXPECT_FALSE(looks.stat(root + "/a"));
  ZooKeeperTalk dies(server.port(), 1s);
  dies.create(root + "/b", ZooKeeperKind::ephemeral);
  dies.drop();
  EXPECT_TRUE(looks.stat(root + "/b"));
  EXPECT_TRUE(eventually([&] { return !looks.stat(root + "/b"); }, 5s));
  looks.remove(root);
}

TEST_F(ZooKeeperSupport, RightsAreThoseOfWhoAuthenticates) {
  ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string path = "/" + ZooKeeperServer::fresh_root();
  ZooKeeperTalk owner = server.talk();
  owner.authenticate("digest", "shop:secret");
  owner.create(path, ZooKeeperKind::persistent, {}, "auth:");
  ZooKeeperTalk stranger = server.talk();
  EXPECT_EQ(error_of([&] { stranger.create(path + "/a"); }), ZooKeeperTalk::no_auth);
  EXPECT_NO_THROW(owner.create(path + "/a"));
  owner.remove_all(path);
}

TEST_F(ZooKeeperSupport, WhatItAcknowledgedSurvivesKillAndStart) {
  ZooKeeperServer server;
  EXPECT_EQ(server.mode(), "standalone");
  EXPECT_GE(server.figure("znode_count"), 1);
  server.talk().create("/kept");
  const std::uint16_t port = server.port();
  server.kill();
  EXPECT_FALSE(server.runs());
  EXPECT_THROW(static_cast<void>(server.talk()), ZooKeeperTalkError);
  server.start();
  EXPECT_EQ(server.port(), port);
  EXPECT_TRUE(server.talk().stat("/kept"));
  server.stop();
  EXPECT_EQ(server.ask("srvr"), "");
  server.resume();
  EXPECT_TRUE(eventually([&] { return server.serves(); }));
}

TEST_F(ZooKeeperSupport, TheHandleEndsSessionsAndSetsNumbers) {
  MORTISE_NEEDS(ZooKeeperServer::missing_handle());
  ZooKeeperServer server({.handled = true});
  ZooKeeperTalk looks = server.talk();
  looks.create("/q");
  ZooKeeperTalk talk = server.talk();
  talk.create("/q/a", ZooKeeperKind::ephemeral);
  server.expire(talk.session());
  EXPECT_TRUE(eventually([&] { return !looks.stat("/q/a"); }, 5s));
  EXPECT_THROW(talk.sync("/"), ZooKeeperTalkError);
  // The counter of this version goes no further.
  server.set_sequence("/q", 2147483646);
  EXPECT_EQ(looks.create("/q/x-", ZooKeeperKind::sequential), "/q/x-2147483646");
  EXPECT_EQ(looks.create("/q/x-", ZooKeeperKind::sequential), "/q/x-2147483647");
  EXPECT_EQ(looks.create("/q/y-", ZooKeeperKind::sequential), "/q/y-2147483647");
}

TEST_F(ZooKeeperSupport, AnEnsembleServesOnWithoutItsLeader) {
  ZooKeeperEnsemble& ensemble = ZooKeeperEnsemble::shared();
  const std::string path = "/" + ZooKeeperServer::fresh_root();
  ensemble.talk().create(path);
  const std::size_t led = ensemble.leader();
  ensemble.server(led).kill();
  EXPECT_NE(ensemble.leader(), led);
  EXPECT_TRUE(ensemble.talk().stat(path));
  ensemble.complete();
  EXPECT_EQ(ensemble.server(led).mode(), "follower");
  ensemble.talk().remove(path);
}

}  // namespace
}  // namespace mortise::test
