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
  static constexpr const char* read_by_two = "dead/reader";
  static constexpr auto lease = 3s;  // renewed after a third of it
  static constexpr Nanos between_looks = 10ms;
  /// The lease of the dead has ended, and a renewal of the other one's has come since.
  static constexpr Nanos reads_on = 2 * lease;
  static constexpr Nanos until_it_waits = 200ms;
  /// Beyond the lease, for which the dead may keep a name: see L1.
  static constexpr Nanos longest_wait = 1s;
  static constexpr auto for_ever = 1h;

  void read_on(mortise::Client& client);
  void write(mortise::Client& client);

  PostgresTrial& trial_;
  Process* mortal_ = nullptr;  // it reads
  Nanos let_go_at_{0};
};

}  // namespace simulation
