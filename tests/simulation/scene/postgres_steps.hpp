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
  static constexpr const char* looked_for = "steps/name";
  static constexpr const char* in_line = "&mortise.fair=yes";
  /// All are connected, and the lock is held.
  static constexpr Nanos until_all_wait = 200ms;
  /// From then on.
  static constexpr Nanos until_the_first_is_deaf = 300ms;
  static constexpr Nanos until_it_is_free = 500ms;
  static constexpr Nanos while_it_is_deaf = 10s;
  /// The second one asks a little sooner, each time; but the first time its process stands still
  /// before it draws its ticket.
  static constexpr Nanos behind = 1ms;
  static constexpr Nanos second_ticket = 5ms;
  /// Its process stands still with the row; and that of the other one, without it, for as long.
  static constexpr Nanos look_at_the_row = 2ms;
  static constexpr Nanos one_way = 50us;

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
