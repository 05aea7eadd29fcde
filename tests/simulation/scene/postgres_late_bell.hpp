// SPDX-License-Identifier: MIT
// A client tells others that a lock is free, which waits for the notifications of another
// database's sessions; what it asks for meanwhile is not to wait for that. A thread has chosen its
// only connection just before, and sends behind what tells: it must have another connection (L2).
// And a question that has to follow another one leaves in one wave with what tells: in front of it
// (L7). In a storm a thread hardly ever stops between those two steps while there is no other
// connection, and such a wave is as rare.
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
  void ask_when_another_comes(std::uint64_t place);
  void tell_and_ask_together();

  PostgresTrial& trial_;
};

}  // namespace simulation
