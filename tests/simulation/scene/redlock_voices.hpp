// SPDX-License-Identifier: MIT
// A server that has voted is started anew while the round goes on, and another address leads there
// by then: under its new name it has no second vote (S1). A restart, an address that moves and a
// round of a few milliseconds hardly ever meet by themselves.
#pragma once

#include "simulation/scene/judge.hpp"
#include "simulation/world/room.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace simulation {

class RedlockVoices {
 public:
  RedlockVoices(Room& room, Judge& judge, std::string url)
      : room_(room), judge_(judge), url_(std::move(url)) {}
  /// Runs the world until it is over. It must live as long as the world does.
  void come();

 private:
  void hold();
  void rival();
  void stall_the_holders();
  void confuse();
  /// @return how many servers the holder leaves to others: the first ones.
  [[nodiscard]] std::size_t left() const;

  Room& room_;
  Judge& judge_;
  const std::string url_;
  Process* holder_ = nullptr;
  Process* rival_ = nullptr;
  bool held_ = false;
  bool tried_ = false;
  int gone_ = 0;
};

}  // namespace simulation
