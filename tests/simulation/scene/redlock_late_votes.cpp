// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_late_votes.hpp"

#include <mortise/client.hpp>
#include <mortise/redlock.hpp>

#include <chrono>
#include <thread>

namespace simulation {
namespace {

using namespace std::chrono_literals;

constexpr auto lease = 9s;
constexpr const char* name = "late votes/0";
constexpr const char* key = "mortise:{late votes/0}";

/// In which a few messages have come and gone, whatever the weather, and a connection is made.
constexpr Nanos to_arrive = 50ms;
/// The request arrives behind the release, and is void after a second.
constexpr Nanos late_by = 400ms;
/// Longer than until then, and far shorter than the lease.
constexpr Nanos soon = 2500ms;

}  // namespace

void RedlockLateVotes::come() {
  begin("late", [this](Process& process) { hold(process); });
  run_until_gone(12s, "a client whose connection breaks is not served");
}

void RedlockLateVotes::hold(Process& process) {
  mortise::Client client(mortise::redlock::backend(url_));
  client.check(1s);
  const Host* const host = room_.network.hosts()[0].get();
  for (const auto& [id, connection] : room_.network.connections()) {
    if (&connection->process() != &process || !connection->held()) continue;
    if (&connection->host() != host) continue;
    connection->stall(Connection::Way::up, room_.world.now() + late_by);
    room_.world.after(to_arrive, [this, broken = id] {
      if (Connection* const its = room_.network.find(broken)) its->cut(true);
    });
  }
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  lock.lock();
  std::this_thread::sleep_for(3 * to_arrive);
  lock.unlock();
  std::this_thread::sleep_for(late_by + soon);
  if (first_.lock(key).held) {
    judge_.blame("S5", "a request that came behind the release has its vote still");
  }
}

}  // namespace simulation
