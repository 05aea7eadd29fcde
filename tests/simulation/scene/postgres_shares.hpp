// SPDX-License-Identifier: MIT
// Two clients whose threads lock the same name again and again, while nothing is wrong; one may be
// nearer to the server than the other. Each is to have its part of the holds: a client's turn ends
// where others wait (L5). In a storm nobody is blamed for a small part, since there are reasons
// enough for one. The one that hears of releases has its part also where the other one is behind a
// pooler, and hears of none.
#pragma once

#include "simulation/scene/postgres_trial.hpp"
#include "simulation/world/random.hpp"

#include <array>
#include <cstdint>

namespace simulation {

class PostgresShares {
 public:
  PostgresShares(PostgresTrial& trial, Random random) : trial_(trial), random_(random) {}
  /// Runs the world until it is over.
  void come();

 private:
  void share(bool pooled);
  void take_part(std::uint64_t& holds, mortise::Client& client) const;

  PostgresTrial& trial_;
  Random random_;
  Nanos until_{0};
  std::array<std::uint64_t, 2> holds_{};
};

}  // namespace simulation
