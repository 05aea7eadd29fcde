// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_deadlines.hpp"

#include <mortise/client.hpp>
#include <mortise/redlock.hpp>

#include <chrono>
#include <thread>

namespace simulation {

void RedlockDeadlines::come() {
  begin("believer", [this](Process& process) { hold(process); });
  run_until_gone(20s, "a client whose servers answer late is not served");
}

void RedlockDeadlines::hold(Process& process) {
  mortise::Client client(mortise::redlock::backend(url_));
  client.check(1s);
  for (const auto& [id, connection] : room_.network.connections()) {
    if (&connection->process() != &process || !connection->held()) continue;
    connection->stall(Connection::Way::down, room_.world.now() + late_by);
  }
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  const Nanos asked = room_.world.now();
  lock.lock();
  if (room_.world.now() + lock.valid_for() > asked + lease) {
    judge_.blame("S1", "a hold counts from the answers, and not from the request");
  }
  const Nanos parted = room_.world.now();
  for (std::size_t i = 0; i < most_; ++i) {
    room_.network.part(process, *room_.network.hosts()[i], parted + 2 * lease);
  }
  std::this_thread::sleep_for(lease);
  if (lock.valid_for() > 0s) {
    judge_.blame("S1", "a hold that most servers have not renewed is believed after its lease");
  }
  lock.unlock();
}

}  // namespace simulation
