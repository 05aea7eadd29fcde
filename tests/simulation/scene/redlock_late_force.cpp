// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_late_force.hpp"

#include <mortise/client.hpp>
#include <mortise/redlock.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

namespace simulation {

void RedlockLateForce::come() {
  begin("unaware", [this](Process& process) { hold(process); });
  begin("administrator", [this](Process& process) { force(process); });
  run_until_gone(20s, "a client whose hold an administrator ended is not served");
}

void RedlockLateForce::hold(Process& process) {
  mortise::Client client(mortise::redlock::backend(url_));
  client.check(1s);
  const std::size_t most = servers_.size() / 2 + 1;
  const auto& hosts = room_.network.hosts();
  for (const auto& [id, connection] : room_.network.connections()) {
    if (&connection->process() != &process || !connection->held()) continue;
    if (connection->host().number() >= hosts[most]->number()) continue;
    connection->stall(Connection::Way::down, room_.world.now() + silence);
  }
  mortise::Lock lock = client.make_lock(name, {.lease = lease, .renew = false});
  lock.lock();
  held_ = true;
  until([this] { return over_; });
  lock.unlock();
}

void RedlockLateForce::force(Process& process) {
  mortise::Client client(mortise::redlock::backend(url_));
  client.check(1s);
  until([this] { return stands_everywhere(); });
  room_.network.part(process, *room_.network.hosts()[servers_.size() - 1],
                     room_.world.now() + silence);
  static_cast<void>(client.force_release(name, {.wait = 1s}));
  until([this] { return held_; });
  std::this_thread::sleep_for(to_return);
  if (!servers_.back()->lock(key).held) {
    judge_.blame("S3", "a late release by force ends the vote of a later round");
  }
  over_ = true;
}

bool RedlockLateForce::stands_everywhere() const {
  return std::all_of(servers_.begin(), servers_.end(),
                     [](redis::RedisModel* server) { return server->lock(key).held; });
}

}  // namespace simulation
