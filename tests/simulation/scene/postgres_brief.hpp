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
  static constexpr const char* wanted_briefly = "brief/name";
  static constexpr Nanos one_way = 50us;
  /// Another client waits, and is written down at the server for much longer than this takes.
  static constexpr Nanos until_it_waits = 50ms;
  /// A client's turn ends before that, so that it asks the server.
  static constexpr Nanos longer_than_a_turn = 20ms;
  /// A thread begins to wait, the lock is freed, and its time is up before its client asks.
  static constexpr Nanos before_it_is_free = 500us;
  static constexpr Nanos brief = 2500us;
  static constexpr Nanos kept_by_another = 50ms;
  static constexpr int times = 4;

  void wait_in_turn(mortise::Client& client, bool wanted);
  void want_it_too();

  PostgresTrial& trial_;
};

}  // namespace simulation
