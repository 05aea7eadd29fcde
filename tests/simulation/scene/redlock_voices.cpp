// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_voices.hpp"

#include <mortise/client.hpp>
#include <mortise/redlock.hpp>

#include <chrono>
#include <thread>

namespace simulation {

void RedlockVoices::come() {
  holder_ = &begin("holder", [this](Process& /*process*/) { hold(); });
  rival_ = &begin("rival", [this](Process& /*process*/) { rival(); });
  run_until_gone(10s, "a client beside a server that was started anew is not served");
}

std::size_t RedlockVoices::left() const { return (room_.network.hosts().size() - 1) / 2; }

void RedlockVoices::hold() {
  const auto& hosts = room_.network.hosts();
  for (std::size_t i = 0; i < left(); ++i) {
    room_.network.part(*holder_, *hosts[i], room_.world.now() + 2 * silence);
  }
  mortise::Client client(mortise::redlock::backend(url_));
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  lock.lock();
  held_ = true;
  until([this] { return tried_; });
  held_ = false;
  lock.unlock();
}

void RedlockVoices::rival() {
  mortise::Client client(mortise::redlock::backend(url_));
  client.check(1s);
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  until([this] { return held_; });
  stall_the_holders();
  room_.world.after(to_arrive, [this] { confuse(); });
  try {
    if (lock.acquire({.wait = silence * 3 / 2})) {
      if (held_) judge_.blame("S1", "a server that was started anew has voted twice in one round");
      lock.unlock();
    }
  } catch (const mortise::Error&) {
    // Told, when the round was over, that two addresses are one server.
  }
  room_.network.lead_elsewhere(*rival_, *room_.network.hosts()[left()], nullptr);
  tried_ = true;
}

void RedlockVoices::stall_the_holders() {
  const auto& hosts = room_.network.hosts();
  for (const auto& [id, connection] : room_.network.connections()) {
    if (&connection->process() != rival_ || !connection->held()) continue;
    if (connection->host().number() < hosts[left()]->number()) continue;
    connection->stall(Connection::Way::down, room_.world.now() + silence);
  }
}

void RedlockVoices::confuse() {
  const auto& hosts = room_.network.hosts();
  hosts[0]->restart(room_.world.now() + 500us, true);
  room_.network.lead_elsewhere(*rival_, *hosts[left()], hosts[0].get());
  room_.world.after(1ms, [this] {
    for (const auto& [id, connection] : room_.network.connections()) {
      if (&connection->process() != rival_ || !connection->held()) continue;
      if (&connection->host() == room_.network.hosts()[left()].get()) connection->cut(true);
    }
  });
}

}  // namespace simulation
