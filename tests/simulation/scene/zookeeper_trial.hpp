// SPDX-License-Identifier: MIT
// A trial with an ensemble, whose processes' requests are heard as they arrive.
#pragma once

#include "simulation/scene/trial.hpp"
#include "simulation/scene/zookeeper_wire.hpp"
#include "simulation/zookeeper/ensemble.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace simulation {

class ZooKeeperTrial : public Trial {
 public:
  ZooKeeperTrial(Room& room, Judge& judge, zookeeper::Ensemble& ensemble, ZooKeeperWire& wire,
                 std::string url, std::chrono::milliseconds session)
      : Trial(room, judge, std::move(url)), ensemble_(ensemble), wire_(wire), session_(session) {}

 protected:
  /// Breaks the connection after that time, if it is still there. What was sent still arrives.
  void cut_after(Nanos time, const Connection& connection) {
    room_.world.after(time, [this, id = connection.id()] {
      if (Connection* const its = room_.network.find(id)) its->cut(true);
    });
  }

  zookeeper::Ensemble& ensemble_;
  ZooKeeperWire& wire_;
  const std::chrono::milliseconds session_;
};

}  // namespace simulation
