// SPDX-License-Identifier: MIT
// A scene of the program in short_of_memory_main.cpp: a call without a thread, on a client that the
// calling thread drives, so that each of its allocations can fail.
#pragma once

#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include "support/failing_allocations.hpp"

#include <chrono>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace mortise::test {

struct Awaited {
  bool reached = false;    ///< so many allocations there were
  bool ends_once = false;  ///< the call was refused, or its handler ran once
  bool free = false;       ///< nothing of it is left in the end
};

inline Awaited await_without_memory(const std::string& name, long fails_at) {
  using namespace std::chrono_literals;
  Awaited seen;
  memory::Server server;
  Client client(server.backend(), {.drive = Drive::program});
  Client other(server.backend());
  Lock lock = client.make_lock(name, {.lease = 30s});
  int ran = 0;
  bool refused = false;
  std::optional<Guard> held;
  until_failure = fails_at;
  try {
    lock.acquire_async().start([&](Guard guard) {
      ++ran;
      held = std::move(guard);
    });
    client.poll();
  } catch (const std::bad_alloc&) {
    refused = true;
  } catch (const Error&) {
    refused = true;
  }
  seen.reached = until_failure == 0;
  until_failure = 0;
  const auto until = std::chrono::steady_clock::now() + 5s;
  while (!refused && ran == 0 && std::chrono::steady_clock::now() < until) client.poll();
  client.poll();
  seen.ends_once = ran == (refused ? 0 : 1);
  held.reset();
  client.poll();
  seen.free = other.make_lock(name).try_lock_for(1s);
  return seen;
}

}  // namespace mortise::test
