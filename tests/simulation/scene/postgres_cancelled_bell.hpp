// SPDX-License-Identifier: MIT
// A client tells others that a lock is free, by its only connection, and the server stands still
// with that for so long that the connection counts as stuck. Then somebody cancels the statement:
// it is answered late, with a refusal, and the connection goes on. Whoever waits for what is freed
// afterwards is told (L6): a request that has failed is over as well. In a storm it is seldom that
// one which tells is under way on a connection that is stuck, and fails, and breaks nothing.
#pragma once

#include "simulation/scene/postgres_trial.hpp"

namespace simulation {

class PostgresCancelledBell {
 public:
  explicit PostgresCancelledBell(PostgresTrial& trial) : trial_(trial) {}
  /// Runs the world until it is over.
  void come();

 private:
  static constexpr const char* rung_for = "cancelled bell/name";
  static constexpr const char* asked_about = "cancelled bell/question";
  static constexpr const char* by_one_way = "&mortise.connections=1";
  /// Whoever waited for a name is remembered at the server for longer than all of this takes.
  static constexpr Nanos that_wait = 50ms;
  /// A question goes out behind what tells all the same, and is not answered within a second.
  static constexpr Nanos until_it_is_stuck = 3s;
  static constexpr Nanos longer_than_that = 10s;
  static constexpr Nanos until_it_is_up_again = 200ms;
  /// It listens by then. Whoever waits does not look by time until a second is over.
  static constexpr Nanos until_it_is_free = 500ms;
  static constexpr Nanos until_it_is_told = 300ms;

  void cancel_what_tells(mortise::Client& client);
  void ring(mortise::Client& client);
  void wait();

  PostgresTrial& trial_;
  Nanos freed_at_{0};
};

}  // namespace simulation
