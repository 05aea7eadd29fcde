// SPDX-License-Identifier: MIT
// A scene of the program in short_of_memory_main.cpp: several names are wanted, and an allocation
// fails in the middle.
#pragma once

#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include "support/failing_allocations.hpp"

#include <array>
#include <chrono>
#include <functional>
#include <new>
#include <vector>

namespace mortise::test {

struct AllWanted {
  bool reached = false;    ///< so many allocations there were
  bool free_here = true;   ///< nobody of this client holds one
  bool free_there = true;  ///< nor does the server know of one, where the call failed
};

/// @param freeing false: the allocation of the call that takes them; true: of the one that frees
[[nodiscard]] inline AllWanted want_all_without_memory(bool freeing, long fails_at) {
  using namespace std::chrono_literals;
  constexpr std::array names{"a name of which each copy needs memory",
                             "another one that is as long",
                             "the last of the names that are wanted"};
  memory::Server server;
  Client client(server.backend());
  Client other(server.backend());
  std::vector<Lock> locks;
  for (const char* const name : names) locks.push_back(client.make_lock(name, {.lease = 30s}));
  std::vector<std::reference_wrapper<Lock>> all(locks.begin(), locks.end());
  all.emplace_back(locks.front());
  AllWanted outcome;
  bool taken = false;
  try {
    if (!freeing) until_failure = fails_at;
    Guards guards = lock_all(all, {.wait = 1s});
    taken = static_cast<bool>(guards);
    if (freeing) until_failure = fails_at;
    guards.unlock();
  } catch (const std::bad_alloc&) {
  }
  outcome.reached = until_failure == 0;
  until_failure = 0;
  for (Lock& lock : locks) {
    outcome.free_here = outcome.free_here && lock.hold_count() == 0;
    // A release that could not be sent leaves the server with a lease that nobody renews.
    outcome.free_there =
        outcome.free_there && (taken || other.make_lock(lock.name()).try_lock_for(1s));
  }
  return outcome;
}

}  // namespace mortise::test
