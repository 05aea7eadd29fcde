// SPDX-License-Identifier: MIT
// A client tries for a free lock, and what it asked for is in doubt. The wait of its commit for the
// standby is cancelled, and it asks once more: it finds its own hold, or is refused. Or its
// connection breaks while the server commits, and what it asks anew finds the row locked by its own
// older copy, or does not find the row that this inserts; or it breaks before that, and the older
// copy comes when all is over, before its moment or after it. Whatever it is told, nothing may stay
// of what it does not know of (S5). In a storm each of these takes two things that seldom come
// together.
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
  /// A server's process stands still, of which nobody reads any more: it is void after a second.
  static constexpr Nanos late_process = 200ms;
  /// The try that waits for it is not over by then.
  static constexpr Nanos brief_process = 10ms;
  static constexpr Nanos too_late_process = 1500ms;
  /// The client looks at its name meanwhile, but not after that.
  static constexpr Nanos later_than_a_look = 1300ms;
  /// By so much the client takes the server's clock to be ahead.
  static constexpr Nanos slow_reading = 600ms;
  /// In which a hold that nobody wants is taken back.
  static constexpr Nanos to_take_it_back = 3s;

  void cancel_the_wait(mortise::Client& client, bool refuse);
  /// One request is lost, and the server stands still with it at this point, for so long.
  struct Loss {
    const char* name;
    postgres::Point point;
    Nanos late;
    bool makes_row = true;  ///< beforehand
  };
  void lose_the_answer(Process& process, mortise::Client& client, const Loss& loss);
  void misread_the_clock(const Process& process, mortise::Client& client);
  void stop_the_next(const Process& process, postgres::Point point, Nanos late);
  void try_and_look(mortise::Lock& lock, const char* words);

  PostgresTrial& trial_;
};

}  // namespace simulation
