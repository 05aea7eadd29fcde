// SPDX-License-Identifier: MIT
// A fail-over to a standby that the last grants had not reached, and whose clock is behind by less
// than the fail-over takes: there are two holders then, and whatever looks at tokens tells them
// apart, since numbers go on by the clock. A storm has such a fail-over now and then, but mostly
// one that loses nothing, or nothing of a name that somebody wants afterwards.
#pragma once

#include "simulation/scene/postgres_trial.hpp"
#include "simulation/world/random.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace simulation {

class PostgresLostGrants {
 public:
  /// @param flush of both servers
  PostgresLostGrants(Room& room, Judge& judge, Nanos flush, std::string_view mistake,
                     Random random);
  /// Runs the world until it is over.
  void come();

 private:
  static constexpr const char* granted_again = "granted again/name";
  /// What was committed has reached the standby.
  static constexpr Nanos until_it_is_shipped = 50ms;
  static constexpr std::uint64_t most_lost = 4;
  static constexpr std::chrono::hours never_back{1};

  void lose_grants(mortise::Client& client);
  void fail_over(Nanos down);
  [[nodiscard]] std::string url();

  PostgresTrial trial_;  // at the primary
  Host& standby_host_;
  postgres::PostgresModel standby_;
  Random random_;
};

}  // namespace simulation
