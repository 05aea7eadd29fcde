// SPDX-License-Identifier: MIT
// Two clients look for a free lock in step, the first in the queue always right behind the second,
// which has its row locked by then to see that it is not its turn. The first one is not told that
// the lock is free. Each is to look when it likes, so that they meet no more; or the first one is
// silent for so long that it loses its place (L5). In a storm they hardly ever begin together.
#pragma once

#include "simulation/scene/postgres_trial.hpp"

namespace simulation {

class PostgresSteps {
 public:
  explicit PostgresSteps(PostgresTrial& trial) : trial_(trial) {}
  /// Runs the world until it is over.
  void come();

 private:
  [[nodiscard]] Nanos stands(const Process& process, postgres::Statement statement,
                             postgres::Point point);
  void take_a_turn(Process& process, mortise::Client& client, bool first);
  void deafen_the_first() const;
  void sleep_until(Nanos when) const;

  PostgresTrial& trial_;
  Nanos begin_{0};
  const Process* first_ = nullptr;
  bool second_has_begun_ = false;
  bool first_was_served_ = false;
};

}  // namespace simulation
