// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_strangers.hpp"

#include <mortise/client.hpp>
#include <mortise/redlock.hpp>

#include <chrono>
#include <thread>

namespace simulation {

void RedlockStrangers::come() {
  holder_ = &begin("keeper of it", [this](Process& /*process*/) { hold(); });
  rival_ = &begin("visitor", [this](Process& /*process*/) { rival(); });
  run_until_gone(15s, "a client beside a server that was away is not served");
}

void RedlockStrangers::hold() {
  const auto& hosts = room_.network.hosts();
  for (std::size_t i = 0; i < left_; ++i) {
    room_.network.part(*holder_, *hosts[i], room_.world.now() + lease);
  }
  mortise::Client client(mortise::redlock::backend(url_));
  mortise::Lock lock = client.make_lock(name, {.lease = lease, .renew = false});
  lock.lock();
  held_ = true;
  until([this] { return tried_; });
  std::error_code error;
  static_cast<void>(lock.release(error));  // one of its servers has forgotten it
}

void RedlockStrangers::rival() {
  mortise::Client client(mortise::redlock::backend(url_));
  client.check(1s);
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  until([this] { return held_; });
  const auto& hosts = room_.network.hosts();
  for (const auto& [id, connection] : room_.network.connections()) {
    if (&connection->process() != rival_ || !connection->held()) continue;
    if (connection->host().number() < hosts[left_]->number()) continue;
    connection->stall(Connection::Way::down, room_.world.now() + silence);
  }
  room_.world.after(to_arrive, [this] { confuse(); });
  static_cast<void>(lock.acquire({.wait = tries_for}));
  std::this_thread::sleep_for(away + soon);
  if (first_.lock(key).held) {
    judge_.blame("L1", "what another server has freed of its own was taken for the first one's");
  }
  tried_ = true;
}

void RedlockStrangers::confuse() {
  const auto& hosts = room_.network.hosts();
  Host& away_for_now = *hosts[0];
  Host& anew = *hosts[left_];
  room_.network.part(*rival_, away_for_now, room_.world.now() + away);
  room_.network.lead_elsewhere(*rival_, away_for_now, &anew);
  room_.network.lead_elsewhere(*rival_, anew, &away_for_now);
  for (const auto& [id, connection] : room_.network.connections()) {
    if (&connection->process() != rival_ || !connection->held()) continue;
    if (&connection->host() == &away_for_now) connection->cut(true);
  }
  anew.restart(room_.world.now() + 500us, false);
}

}  // namespace simulation
