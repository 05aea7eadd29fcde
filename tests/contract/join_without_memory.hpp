// SPDX-License-Identifier: MIT
// A scene of the program in short_of_memory_main.cpp: a reader joins another one of its client, and
// asks whether others wait.
#pragma once

#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include "support/failing_allocations.hpp"

#include <chrono>
#include <new>
#include <string>

namespace mortise::test {

struct Joined {
  bool reached = false;  ///< so many allocations there were
  bool as_told = false;  ///< it holds, or not, as it was told
  bool free = false;     ///< nothing of it is left in the end
};

inline Joined join_without_memory(const std::string& name, long fails_at) {
  using namespace std::chrono_literals;
  Joined seen;
  memory::Server server;
  Client client(server.backend(), {.turn = 0ms});
  Lock lock = client.make_lock(name, {.mode = Mode::shared});
  const Owner first = Owner::unique();
  if (!lock.acquire({.owner = first})) return seen;
  until_failure = fails_at;
  bool joined = true;
  try {
    lock.lock();
  } catch (const std::bad_alloc&) {
    joined = false;
  }
  seen.reached = until_failure == 0;
  until_failure = 0;
  seen.as_told = joined == (lock.hold_count() == 1);
  if (joined) lock.unlock();
  lock.unlock(first);
  Client other(server.backend());
  seen.free = other.make_lock(name).try_lock_for(5s);
  return seen;
}

}  // namespace mortise::test
