// SPDX-License-Identifier: MIT
// Several clients wait in the server's queue to read a name, and nobody else does. Once it is freed
// all of them are told, not the first one alone (L6): whoever is not would look by time only. In a
// storm nobody is blamed for that, since a notification may be lost, and readers seldom lead a
// queue of a client each.
#pragma once

#include "simulation/scene/postgres_trial.hpp"

namespace simulation {

class PostgresLeadingReaders {
 public:
  explicit PostgresLeadingReaders(PostgresTrial& trial) : trial_(trial) {}
  /// Runs the world until it is over.
  void come();

 private:
  void write(mortise::Client& client);
  void read(mortise::Client& client);
  void sleep_until(Nanos when) const;

  PostgresTrial& trial_;
  Nanos begin_{0};  // of the readers
  Nanos freed_at_{0};
};

}  // namespace simulation
