// SPDX-License-Identifier: MIT
// A connection breaks while a waiter's request is under way on it, which the server executes later.
// The thread that sees it break stands still, at one place after the other, before it has told what
// was unanswered; meanwhile the waiter's time is up, and its attempt is taken back by another
// connection, or by another life of the same. Whatever comes last, nothing may stay of the attempt
// (S5). In a storm the three hardly ever meet.
#pragma once

#include "simulation/scene/postgres_trial.hpp"

#include <cstdint>
#include <optional>

namespace mortise {
class Lock;
}

namespace simulation {

class PostgresOvertaken {
 public:
  explicit PostgresOvertaken(PostgresTrial& trial) : trial_(trial) {}
  /// Runs the world until it is over.
  void come();

 private:
  void take_back(Process& process, mortise::Client& client, std::uint64_t place);
  void take_back_anew(Process& process, mortise::Client& client, std::uint64_t place);
  void try_for_a_while(Process& process, mortise::Lock& wanted);
  void break_it() const;

  PostgresTrial& trial_;
  bool asks_ = false;
  std::optional<ConnectionId> asked_by_;  // the waiter, once it does
};

}  // namespace simulation
