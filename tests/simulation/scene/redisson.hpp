// SPDX-License-Identifier: MIT
// A stranger in a run: a process with Redisson's RLock (its scripts, its channel, as of 3.2x),
// which excludes ours under `interop=redisson`.
#pragma once

#include "simulation/scene/judge.hpp"
#include "simulation/world/room.hpp"

#include <cstddef>
#include <functional>
#include <string>

namespace simulation {

class Redisson {
 public:
  /// @param goes_on asked before each lock: whether to take another one
  Redisson(Room& room, Judge& judge, Process& process, std::size_t names,
           std::function<bool()> goes_on);
  /// Locks and unlocks; on a thread of the process.
  void live();

 private:
  struct Wire;
  bool lock(Wire& commands, Wire& inbox, const std::string& key, Nanos& valid_until);
  void unlock(Wire& commands, const std::string& key);

  Room& room_;
  Judge& judge_;
  Process& process_;
  const std::size_t names_;
  const std::function<bool()> goes_on_;
  const std::string owner_;
};

}  // namespace simulation
