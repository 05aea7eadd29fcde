// SPDX-License-Identifier: MIT
// A program's own transaction, tied to a hold by mortise::postgres::guard(). That the tie holds is
// judged at the server (tests/simulation/postgres).
#pragma once

#include <mortise/lock.hpp>

#include "simulation/world/random.hpp"

#include <functional>
#include <string>

namespace simulation {

struct Tie {
  std::string url{};  ///< of the server
  Nanos longest{0};   ///< the transaction takes no longer
  /// Once it is set nobody may be kept waiting: what is tied is committed before the hold is
  /// released. Outlives the transaction.
  const bool& calm;
  std::function<bool()> closing{};  ///< whether the lock's client is being closed, or is
  std::function<void()> over{};     ///< called once the transaction keeps nobody out any more
  std::string& wrong;               ///< is set to what no such call may say
};

/// @return what commits it; null = it is over already
[[nodiscard]] std::function<void()> tie_transaction(mortise::Lock& lock, mortise::Owner owner,
                                                    Random& random, const Tie& tie);

}  // namespace simulation
