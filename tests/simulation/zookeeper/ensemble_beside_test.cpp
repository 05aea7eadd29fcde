// SPDX-License-Identifier: MIT
// Goal: three servers of the model answer as three real ones do, while all is well. Method:
// sessions at all three send the same random requests to both, and move from one to another; after
// each step all are told what they have missed, so that no server lags. See trio_beside_test.cpp
// for trouble.
#include "simulation/zookeeper/beside/conversation.hpp"
#include "simulation/zookeeper/beside/random_steps.hpp"
#include "simulation/zookeeper/beside/seeds.hpp"
#include "simulation/zookeeper/beside/trio.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace simulation::zookeeper {
namespace {

using mortise::test::ZooKeeperServer;

constexpr std::size_t ensemble_sessions = 5;

class ZooKeeperEnsembleBesideLong : public ::testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_ZOOKEEPER(); }

  void converse(std::uint64_t seed) {
    SCOPED_TRACE("MORTISE_SEED=" + std::to_string(seed));
    const std::string root = "/r" + std::to_string(++roots_);
    Conversation there(real_->place(), ensemble_sessions, Trio::size);
    Conversation here(model_.place(), ensemble_sessions, Trio::size);
    RandomSteps steps(seed, root, ensemble_sessions, Trio::size);
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

  std::unique_ptr<RealTrio> real_;
  ModelTrio model_{1};
  int roots_ = 0;
  std::size_t requests_ = 0;
};

TEST_F(ZooKeeperEnsembleBesideLong, ThirtyThousandRequestsAreAnsweredAlike) {
  real_ = std::make_unique<RealTrio>(RealTrio::Links::whole);
  const std::uint64_t seed = first_seed();
  for (std::uint64_t i = 0; requests_ < requests_in_all(30'000) && !HasFailure(); ++i) {
    converse(seed + i);
  }
  RecordProperty("requests", std::to_string(requests_));
}

}  // namespace
}  // namespace simulation::zookeeper
