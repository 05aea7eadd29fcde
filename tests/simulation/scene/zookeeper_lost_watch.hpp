// SPDX-License-Identifier: MIT
// A waiter whose watch gets lost: its connection breaks while the servers have too many requests,
// and the next one refuses what the C client sends it then, the watches that it had at the other.
// Nobody tells the client that. It is served all the same, since it looks by itself (L2).
#pragma once

#include "simulation/scene/judge.hpp"
#include "simulation/world/room.hpp"
#include "simulation/zookeeper/ensemble.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace simulation {

class ZooKeeperLostWatch {
 public:
  ZooKeeperLostWatch(Room& room, Judge& judge, zookeeper::Ensemble& ensemble, std::string url,
                     std::chrono::milliseconds session)
      : room_(room), judge_(judge), ensemble_(ensemble), url_(std::move(url)), session_(session) {}
  /// Runs the world until it is over. It must live as long as the world does.
  void come();

 private:
  static constexpr const char* name_of_lost_watch = "watched";
  static constexpr const char* queue_of_lost_watch = "/locks/watched";
  /// Such a server refuses every other request.
  static constexpr int most_breaks = 12;
  /// In which a client is there again; and in which it knows what it was answered, however slow the
  /// servers are among themselves.
  static constexpr int ms_to_come_back = 500;
  static constexpr Nanos to_be_answered = 80ms;
  /// A waiter looks each second.
  static constexpr Nanos until_it_looks = 1'500ms;

  void begin(const char* who, void (ZooKeeperLostWatch::*life)());
  void hold();
  void wait();
  /// @return the waiter's session, once it has its place and watches whoever is before it.
  [[nodiscard]] std::int64_t await_the_waiter() const;
  void lose_the_watch(std::int64_t session);
  void throttle(bool yes);

  Room& room_;
  Judge& judge_;
  zookeeper::Ensemble& ensemble_;
  const std::string url_;
  const std::chrono::milliseconds session_;
  bool held_ = false;
  bool served_ = false;
  int gone_ = 0;
};

}  // namespace simulation
