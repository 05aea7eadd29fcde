// SPDX-License-Identifier: MIT
// What is tried behind the storm, when all is well again: a few processes, each with a life of its
// own, and an order of events that storms hardly ever make.
#pragma once

#include "simulation/scene/judge.hpp"
#include "simulation/world/room.hpp"

#include <functional>
#include <string>
#include <utility>

namespace simulation {

class Trial {
 public:
  virtual ~Trial() = default;
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  /// Runs the world until it is over. It must live as long as the world does.
  virtual void come() = 0;

 protected:
  Trial(Room& room, Judge& judge, std::string url)
      : room_(room), judge_(judge), url_(std::move(url)) {}
  /// Begins a process once the world runs. What its life throws is a finding.
  Process& begin(const char* name, std::function<void(Process&)> life);
  /// Runs the world until all of them are gone. Blames L7 with these words where somebody is not.
  void run_until_gone(Nanos patience, const char* words);
  /// Has the thread that runs wait for it, a millisecond at a time.
  static void until(const std::function<bool()>& comes_true);

  Room& room_;
  Judge& judge_;
  const std::string url_;

 private:
  int here_ = 0;
};

}  // namespace simulation
