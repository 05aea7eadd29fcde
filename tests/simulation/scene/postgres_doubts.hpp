// SPDX-License-Identifier: MIT
// A client tries for a free lock, and what it asked for is in doubt. The wait of its commit for the
// standby is cancelled, and it asks once more: it finds its own hold, or is refused. Or its
// connection breaks while the server commits, and what it asks anew finds the row locked by its own
// older copy; or it breaks before that, and the older copy comes when all is over. Whatever it is
// told, nothing may stay of what it does not know of (S5). In a storm each of these takes two
// things that seldom come together.
#pragma once

#include "simulation/scene/postgres_trial.hpp"

namespace mortise {
class Lock;
}

namespace simulation {

class PostgresDoubts {
 public:
  explicit PostgresDoubts(PostgresTrial& trial) : trial_(trial) {}
  /// Runs the world until it is over.
  void come();

 private:
  static constexpr const char* doubtful = "doubts/";
  /// The statement has come to its commit; and, later, its wait for the standby is cancelled.
  static constexpr Nanos until_it_waits = 50ms;
  /// What was asked once more is answered.
  static constexpr Nanos until_it_is_refused = 50ms;
  /// A server's process stands still, of which nobody reads any more.
  static constexpr Nanos late_process = 200ms;
  /// In which a hold that nobody wants is taken back.
  static constexpr Nanos to_take_it_back = 1s;

  void cancel_the_wait(mortise::Client& client, bool refuse);
  void lose_the_answer(Process& process, mortise::Client& client, postgres::Point point);
  void stop_the_next(const Process& process, postgres::Point point);
  void try_and_look(mortise::Lock& lock, const char* words);

  PostgresTrial& trial_;
};

}  // namespace simulation
