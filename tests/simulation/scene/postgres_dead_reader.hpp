// SPDX-License-Identifier: MIT
// Two clients read a name; one of them dies, and the other one reads on for longer than the lease
// of the dead. When that one lets go, nobody keeps the name from whoever waits to write (L1): its
// renewals were of its own hold. In a storm hardly anybody reads for so long beside the dead.
#pragma once

#include "simulation/scene/postgres_trial.hpp"

namespace simulation {

class PostgresDeadReader {
 public:
  explicit PostgresDeadReader(PostgresTrial& trial) : trial_(trial) {}
  /// Runs the world until it is over.
  void come();

 private:
  void read_on(mortise::Client& client);
  void write(mortise::Client& client);

  PostgresTrial& trial_;
  Process* mortal_ = nullptr;  // it reads
  Nanos let_go_at_{0};
};

}  // namespace simulation
