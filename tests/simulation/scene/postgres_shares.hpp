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
  static constexpr const char* shared_name = "shares/name";
  static constexpr Nanos while_they_share = 2s;
  static constexpr Nanos until_all_are_there = 100ms;
  /// The way of the shortest connection, and of the longest one, which is twice as long.
  static constexpr Nanos nearest = 20us;
  static constexpr Nanos farthest = 1ms;
  static constexpr int sharers = 3;  // threads of each client
  /// One in so many of all holds is the least for a client.
  static constexpr std::uint64_t least_part = 10;

  void share(bool pooled);
  void take_part(std::uint64_t& holds, mortise::Client& client) const;

  PostgresTrial& trial_;
  Random random_;
  Nanos until_{0};
  std::array<std::uint64_t, 2> holds_{};
};

}  // namespace simulation
