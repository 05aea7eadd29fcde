// SPDX-License-Identifier: MIT
// A writer behind readers of one client who join each other without an end. Its server tells nobody
// that it waits: the readers' client asks, and lets no more of them join (L2).
#pragma once

#include "simulation/scene/judge.hpp"
#include "simulation/world/room.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace mortise {
class Client;
}

namespace simulation {

class ZooKeeperCrowdedReaders {
 public:
  ZooKeeperCrowdedReaders(Room& room, Judge& judge, std::string url,
                          std::chrono::milliseconds session)
      : room_(room), judge_(judge), url_(std::move(url)), session_(session) {}
  /// Runs the world until it is over. It must live as long as the world does.
  void come();

 private:
  static constexpr const char* what_is_read = "crowded";
  static constexpr int readers = 3;
  static constexpr Nanos longest_read = 30ms;
  /// A turn, and what the servers take to tell of the writer and to serve it.
  static constexpr Nanos until_it_writes = 2s;

  template <class Life>
  void begin(Process& process, Life life);
  void read(mortise::Client& client);
  void write();

  Room& room_;
  Judge& judge_;
  const std::string url_;
  const std::chrono::milliseconds session_;
  int reading_ = 0;
  bool over_ = false;
  int readers_gone_ = 0;
  int gone_ = 0;
};

}  // namespace simulation
