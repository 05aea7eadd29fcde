// SPDX-License-Identifier: MIT
// A client lets others go first where they have waited for a name, and rests for a moment. One of
// its threads waits for less than that. If nobody else wants the lock by then, it gets it; if
// somebody has it, that is contention, and no error: the server has answered all along.
#pragma once

#include "simulation/scene/postgres_trial.hpp"

namespace simulation {

class PostgresBrief {
 public:
  explicit PostgresBrief(PostgresTrial& trial) : trial_(trial) {}
  /// Runs the world until it is over.
  void come();

 private:
  void wait_in_turn(mortise::Client& client, bool wanted);
  void want_it_too();

  PostgresTrial& trial_;
};

}  // namespace simulation
