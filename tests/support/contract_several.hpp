// SPDX-License-Identifier: MIT
// What the tests of lock_all() share.
#pragma once

#include "support/contract_suites.hpp"

#include <functional>
#include <string>
#include <vector>

namespace mortise::contract {

using SeveralLocks = std::vector<std::reference_wrapper<Lock>>;
using Several = mortise::Guards;  // not the suite of that name

/// Handles on those names.
inline std::vector<Lock> locks_of(Client& client, const std::vector<std::string>& names,
                                  const LockOptions& options = {}) {
  std::vector<Lock> locks;
  for (const std::string& name : names) locks.push_back(client.make_lock(name, options));
  return locks;
}
inline SeveralLocks all_of(std::vector<Lock>& locks) { return {locks.begin(), locks.end()}; }

/// Whether another owner can have it at once.
inline bool is_free_for(Client& client, const std::string& name) {
  Lock lock = client.make_lock(name);
  const bool free = lock.try_lock();
  if (free) lock.unlock();
  return free;
}

}  // namespace mortise::contract
