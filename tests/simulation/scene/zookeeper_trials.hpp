// SPDX-License-Identifier: MIT
// What is tried with ZooKeeper behind the storm, one thing after another.
#pragma once

#include "simulation/scene/plan.hpp"
#include "simulation/scene/zookeeper_crowded_readers.hpp"
#include "simulation/scene/zookeeper_late_node.hpp"
#include "simulation/scene/zookeeper_lost_watch.hpp"
#include "simulation/scene/zookeeper_lost_words.hpp"
#include "simulation/scene/zookeeper_trial.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace simulation {

class ZooKeeperTrials {
 public:
  /// @param servers, terms of a client, as its URL says them
  ZooKeeperTrials(Room& room, zookeeper::Ensemble& ensemble, ZooKeeperWire& wire, const Plan& plan,
                  std::string servers, std::string terms);
  /// Runs the world until they are over, or one has found something.
  void come(Judge& judge);

 private:
  template <class Kind>
  void come(Judge& judge);

  Room& room_;
  zookeeper::Ensemble& ensemble_;
  ZooKeeperWire& wire_;
  const std::uint64_t seed_;
  const bool has_readers_;
  const bool has_keys_;
  const std::string url_;
  const std::string terms_;
  const std::chrono::milliseconds session_;
  std::optional<ZooKeeperLateNode> late_node_;
  std::optional<ZooKeeperLostWatch> lost_watch_;
  std::optional<ZooKeeperLostWords> lost_words_;
  std::optional<ZooKeeperCrowdedReaders> crowded_readers_;
  std::vector<std::unique_ptr<Trial>> others_;
};

}  // namespace simulation
