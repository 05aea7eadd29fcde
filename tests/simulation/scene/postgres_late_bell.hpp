// SPDX-License-Identifier: MIT
// A client has one connection, and tells others on it that a lock is free, which waits for the
// notifications of another database's sessions. A thread of it has chosen that connection just
// before, and sends behind what tells: it must have another connection, and not wait for that (L2).
// In a storm a thread hardly ever stops between those two steps while there is no other connection.
#pragma once

#include "simulation/scene/postgres_trial.hpp"

#include <cstdint>

namespace simulation {

class PostgresLateBell {
 public:
  explicit PostgresLateBell(PostgresTrial& trial) : trial_(trial) {}
  /// Runs the world until it is over.
  void come();

 private:
  void have_a_waiter();
  void tell_and_ask(std::uint64_t place);

  PostgresTrial& trial_;
};

}  // namespace simulation
