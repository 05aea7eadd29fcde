// SPDX-License-Identifier: MIT
// A waiter leaves before the reply to its watch has come. So the server keeps the watch. The next
// attempt of the client asks for a watch of the same node. Before that request arrives, the node
// changes: the event of the first watch must not be taken for the end of the second one (L2). Two
// rules prevent that: the client removes the watch of a waiter that has left, and it notes a watch
// once more when the reply comes. The trial fails if both are missing.
#pragma once

#include "simulation/scene/zookeeper_trial.hpp"

#include <algorithm>
#include <string_view>

namespace simulation {

class ZooKeeperStaleWatch final : public ZooKeeperTrial {
 public:
  using ZooKeeperTrial::ZooKeeperTrial;
  void come() override;

 private:
  static constexpr const char* name_of_stale_watch = "stale-watch";
  static constexpr Nanos to_be_answered = 80ms;
  /// An event is there, as a rule: all is well.
  static constexpr Nanos to_be_told = 5ms;
  /// Far less than a second: then a waiter looks by itself.
  static constexpr Nanos until_served = 300ms;

  enum class Act {
    begins,
    owns,
    waits,       ///< the reader asks for the first time
    watches,     ///< its request for a watch has arrived, and is not answered
    leaves,      ///< it has left
    queues,      ///< its next attempt has a node, and looks who is before it
    asks_again,  ///< its request for another watch does not arrive
  };
  void own();
  void read(Process& process);
  void asked(Connection& from, std::int32_t type, std::string_view body);
  /// Shorter than the time after which a client gives a silent server up.
  [[nodiscard]] Nanos silence() const { return std::min<Nanos>(40ms, session_ / 5); }
  /// @return true if the reader has the connection on which it has asked.
  [[nodiscard]] bool is_connected() const {
    Connection* const its = room_.network.find(connection_);
    return its != nullptr && its->held();
  }

  Act act_ = Act::begins;
  ConnectionId connection_{};
  bool is_served_ = false;
};

}  // namespace simulation
