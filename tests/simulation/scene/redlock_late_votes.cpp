// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_late_votes.hpp"

#include <mortise/client.hpp>
#include <mortise/redlock.hpp>

#include <chrono>
#include <thread>

namespace simulation {

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
