// SPDX-License-Identifier: MIT
// What keys depend on beside what is committed: how late it is by the leader's clock, and that a
// leader which was replaced, and does not know it yet, answers a sync and a read from what it had.
#pragma once

#include "simulation/world/room.hpp"
#include "simulation/zookeeper/ensemble.hpp"

namespace simulation {

class ZooKeeperLeaders {
 public:
  /// Goes on as long as the world does, and must live as long.
  ZooKeeperLeaders(Room& room, const zookeeper::Ensemble& ensemble)
      : room_(room), ensemble_(ensemble) {
    agree_on_the_time();
    look_for_two();
  }
  ZooKeeperLeaders(const ZooKeeperLeaders&) = delete;
  ZooKeeperLeaders& operator=(const ZooKeeperLeaders&) = delete;

  /// @return what somebody who asked then, and is answered by now, sees is not older than this.
  [[nodiscard]] Nanos seen_from(Nanos asked) const noexcept {
    return until_ >= asked && from_ < asked ? from_ : asked;
  }

 private:
  static constexpr std::chrono::seconds between_times{1};
  static constexpr std::chrono::milliseconds between_looks{20};
  /// What lies nearer to each other counts as one.
  static constexpr std::chrono::seconds near{10};

  void agree_on_the_time();
  void look_for_two();

  Room& room_;
  const zookeeper::Ensemble& ensemble_;
  Nanos from_{-1};  // two have led, for the last time, or times that are near
  Nanos until_{-1};
};

}  // namespace simulation
