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
  void cancel_what_tells(mortise::Client& client);
  void ring(mortise::Client& client);
  void wait();

  PostgresTrial& trial_;
  Nanos freed_at_{0};
};

}  // namespace simulation
