// SPDX-License-Identifier: MIT
// Goal: one server of the model answers as a real one does. Method: several sessions send the same
// random requests to both, as bytes; replies, errors, stats, events and their order, and the final
// trees are compared as text. Times are not, and zxids are counted from the beginning.
#include "simulation/zookeeper/beside/conversation.hpp"
#include "simulation/zookeeper/beside/random_steps.hpp"
#include "simulation/zookeeper/beside/seeds.hpp"
#include "support/zookeeper_server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace simulation::zookeeper {
namespace {

using mortise::test::ZooKeeperServer;

constexpr std::size_t server_sessions = 4;

class ZooKeeperModelBeside : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (ZooKeeperServer::missing().empty()) {
      // Containers go when nobody asks for it, which would be at another moment here and there.
      real_ = new ZooKeeperServer(
          {.jvm = {"-Dzookeeper.forceSync=no", "-Dznode.container.checkIntervalMs=2000000000"}});
    }
  }
  static void TearDownTestSuite() {
    delete real_;
    real_ = nullptr;
  }
  void SetUp() override { MORTISE_NEEDS_ZOOKEEPER(); }

  /// The same root at both, and a conversation below it.
  void converse(std::uint64_t seed) {
    SCOPED_TRACE("MORTISE_SEED=" + std::to_string(seed));
    const std::string root = "/r" + std::to_string(++roots_);
    RealPlace real({real_->port()});
    Conversation there(real, server_sessions);
    Conversation here(model_, server_sessions);
    RandomSteps steps(seed, root, server_sessions);
    const auto play = [&](const Step& step) {
      const auto expected = there.play(step);
      const auto answered = here.play(step);
      EXPECT_EQ(answered, expected) << "step: " << step.words();
    };
    play({.requests = {{op::create, create_body(root, 0)}}});
    while (steps.requests() < requests_a_chapter && !HasFailure()) play(steps.next());
    if (!HasFailure()) {
      EXPECT_EQ(here.tree(root), there.tree(root));
    }
    requests_ += steps.requests();
  }

  static inline ZooKeeperServer* real_ = nullptr;
  static inline int roots_ = 0;
  Options options_{.tick = std::chrono::milliseconds(200),
                   .max_session = std::chrono::seconds(60),
                   .containers = std::chrono::hours(500)};
  ModelPlace model_{1, 1, options_};
  std::size_t requests_ = 0;
};

TEST_F(ZooKeeperModelBeside, RandomRequestsAreAnsweredAlike) {
  const std::uint64_t seed = first_seed();
  for (std::uint64_t i = 0; i < 2 && !HasFailure(); ++i) converse(seed + i);
}

using ZooKeeperModelBesideLong = ZooKeeperModelBeside;
TEST_F(ZooKeeperModelBesideLong, AHundredThousandRequestsAreAnsweredAlike) {
  const std::uint64_t seed = first_seed();
  for (std::uint64_t i = 0; requests_ < requests_in_all(100'000) && !HasFailure(); ++i)
    converse(seed + i);
}

}  // namespace
}  // namespace simulation::zookeeper
