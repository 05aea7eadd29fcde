// SPDX-License-Identifier: MIT
// A run whose outcome is recorded, and whose runner's connection breaks before it is told so: it
// finds what it has recorded by the next one, and is told neither that it lost nor that it is in
// doubt (S5, O2).
#pragma once

#include <mortise/client.hpp>

#include "simulation/scene/judge.hpp"
#include "simulation/world/room.hpp"
#include "simulation/zookeeper/ensemble.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace simulation {

class ZooKeeperLostWords {
 public:
  ZooKeeperLostWords(Room& room, Judge& judge, zookeeper::Ensemble& ensemble, std::string url,
                     std::chrono::milliseconds session)
      : room_(room), judge_(judge), ensemble_(ensemble), url_(std::move(url)), session_(session) {}
  /// Runs the world until it is over. It must live as long as the world does.
  void come();

 private:
  void live();
  void conclude(mortise::Client& client, bool success);
  /// Breaks the connection as soon as the outcome is recorded.
  void watch_for_it();

  Room& room_;
  Judge& judge_;
  zookeeper::Ensemble& ensemble_;
  const std::string url_;
  const std::chrono::milliseconds session_;
  std::string kept_;
  std::int64_t its_session_ = 0;
  bool was_cut_ = false;
  bool gone_ = false;
};

}  // namespace simulation
