// SPDX-License-Identifier: MIT
// A node that comes when it has been looked for in vain: a follower has handed its creation to the
// leader, which cannot commit it for a moment; its client loses its connection and goes on at the
// leader, where a sync waits for nothing, so that the list does not hold the node yet. Whoever
// asked for it still wants the name, or has given up: in either case the node goes, and who waits
// is served (L2). In storms all of this hardly ever comes together.
#pragma once

#include "simulation/scene/judge.hpp"
#include "simulation/world/random.hpp"
#include "simulation/world/room.hpp"
#include "simulation/zookeeper/ensemble.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace simulation {

class ZooKeeperLateNode {
 public:
  /// @param terms of a client, as its URL says them
  ZooKeeperLateNode(Room& room, Judge& judge, zookeeper::Ensemble& ensemble, std::string terms,
                    std::chrono::milliseconds session, Random random)
      : room_(room),
        judge_(judge),
        ensemble_(ensemble),
        terms_(std::move(terms)),
        session_(session),
        random_(random) {}
  /// Runs the world until it is over. It must live as long as the world does.
  void come();

 private:
  static constexpr const char* name_of_late_node = "late";
  static constexpr const char* queue_of_late_node = "/locks/late";
  /// Shorter than a message between two servers takes: their leader has proposed the node, and none
  /// of them has it yet.
  static constexpr Nanos glance = 10us;
  /// A client is there again long before, and has looked; the others bear with their leader for
  /// longer.
  static constexpr Nanos cut_off = 100ms;
  /// In which it is there again, or not yet; and has had nothing either way.
  static constexpr Nanos shortest_wait = 1ms;
  static constexpr Nanos longest_wait = 50ms;

  void run(const char* who, void (ZooKeeperLateNode::*life)());
  void want_it_still();
  void give_it_up();
  /// Has this befall the next node that anybody asks for.
  void hold_up_the_next();
  void watch_for_it();
  /// From now on the client's one address leads to a follower, or to the leader.
  void lead_to_follower(bool yes);
  [[nodiscard]] std::string url() const;

  Room& room_;
  Judge& judge_;
  zookeeper::Ensemble& ensemble_;
  const std::string terms_;
  const std::chrono::milliseconds session_;
  Random random_;
  std::size_t leader_ = 0;
  Process* process_ = nullptr;
  bool gone_ = false;
};

}  // namespace simulation
