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
  static constexpr const char* read_by_all = "leading/readers";
  static constexpr const char* in_line = "&mortise.fair=yes";
  static constexpr int readers = 3;
  /// All are connected, and the name is held.
  static constexpr Nanos until_all_are_there = 200ms;
  /// From then on: they have their tickets. None of them looks by time until a second is over.
  static constexpr Nanos until_it_is_free = 600ms;
  static constexpr Nanos until_all_are_told = 300ms;

  void write(mortise::Client& client);
  void read(mortise::Client& client);
  void sleep_until(Nanos when) const;

  PostgresTrial& trial_;
  Nanos begin_{0};  // of the readers
  Nanos freed_at_{0};
};

}  // namespace simulation
