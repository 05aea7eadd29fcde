// SPDX-License-Identifier: MIT
// Goal: the checker and the resource catch what breaks locks on ZooKeeper, with sessions and a
// queue that are real ones. Method: the scenes of broken_scenes.hpp, below a path of their own.
#include <mortise/zookeeper.hpp>

#include "model/broken_scenes.hpp"
#include "support/eventually.hpp"
#include "support/zookeeper_locks.hpp"
#include "support/zookeeper_server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::ZooKeeperLocks;
using test::ZooKeeperServer;
using test::ZooKeeperTalk;

constexpr const char* in_short = "?session=800ms&margin=100ms";
// A lease is the session's, so whoever holds for longer renews.
const LockOptions renewed{.lease = 800ms};

struct PrivatePath {
  const std::string root = ZooKeeperServer::fresh_root();
  ZooKeeperServer& server = ZooKeeperServer::shared();

  [[nodiscard]] std::vector<std::string> queue() const {
    ZooKeeperTalk talk = server.talk();
    return ZooKeeperLocks("/" + root).queue(talk, "n");
  }
};

struct ZooKeeperPlay : PrivatePath, ServerPlay {
  ZooKeeperPlay()
      : ServerPlay([this] { return zookeeper::backend(server.url(root + in_short)); },
                   {.unrenewed = {.lease = 800ms, .renew = false},
                    .lasting = renewed,
                    .renewed = renewed}) {}

  // Behind the holder.
  bool wait_in_line(std::size_t count) override {
    return eventually([&] { return queue().size() == 1 + count; });
  }
  Wrap break_releases(const std::shared_ptr<HeldMessages>& messages) override {
    return frees_whoever_holds(
        messages, [this](const std::string& /*name*/) { server.talk().remove(queue().front()); });
  }
};

class ZooKeeperBroken : public ::testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_ZOOKEEPER(); }
};

TEST_F(ZooKeeperBroken, ALeaseCountedFromTheReplyIsCaught) {
  expect_caught<ZooKeeperPlay>(Fault::overlap, scenes::late_reply);
}

TEST_F(ZooKeeperBroken, AReleaseThatFreesWhoeverHoldsIsCaught) {
  expect_caught<ZooKeeperPlay>(Fault::overlap, scenes::late_release);
}

// The number at the end of a node's name for a token, as other libraries' users take it; its parent
// is removed between A's holds and B's, as the server does with an empty container.
Report sequence_for_token(ZooKeeperPlay& play, bool broken) {
  CountsApart::Counter counter;
  if (broken) {
    counter = [&play] {
      const auto number = ZooKeeperLocks::sequence(play.queue().front());
      return static_cast<std::uint64_t>(number) + 1;
    };
  }
  const auto remove_parent = [&play] {
    EXPECT_TRUE(eventually([&] { return play.queue().empty(); }));
    play.server.talk().remove(ZooKeeperLocks("/" + play.root).path("n"));
  };
  return scenes::tokens(play, counter, remove_parent, !broken);
}

TEST_F(ZooKeeperBroken, ATokenThatRestartsWithTheQueueIsCaught) {
  expect_caught<ZooKeeperPlay>(Fault::token_repeated, sequence_for_token);
}

TEST_F(ZooKeeperBroken, AResourceThatTakesOldTokensIsCaught) {
  expect_old_tokens_caught<ZooKeeperPlay>();
}

}  // namespace
}  // namespace mortise::model
