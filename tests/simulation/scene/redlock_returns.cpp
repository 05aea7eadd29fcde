// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_returns.hpp"

#include <mortise/client.hpp>
#include <mortise/redlock.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

namespace simulation {

void RedlockReturns::come() {
  holder_ = &begin("owner", [this](Process& /*process*/) { hold(); });
  rival_ = &begin("taker", [this](Process& /*process*/) { rival(); });
  run_until_gone(10s, "a client beside servers that refuse is not served");
}

void RedlockReturns::hold() {
  const auto& hosts = room_.network.hosts();
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    room_.network.part(*holder_, *hosts[i], room_.world.now() + lease);
  }
  mortise::Client client(mortise::redlock::backend(url_));
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  lock.lock();
  held_ = true;
  until([this] { return tried_; });
  lock.unlock();
}

void RedlockReturns::rival() {
  mortise::Client client(mortise::redlock::backend(url_));
  client.check(1s);
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  until([this] { return held_; });
  static_cast<void>(lock.acquire({.wait = 150ms}));  // it has inboxes from now on
  std::this_thread::sleep_for(at_once);
  meanwhile([this](redis::RedisModel& server) {
    server.set_busy(true);
    room_.world.after(silence * 2, [&server] { server.set_busy(false); });
  });
  static_cast<void>(lock.try_lock());
  std::this_thread::sleep_for(soon);
  if (stands()) judge_.blame("L1", "what a server refused to take back for a moment stands");
  meanwhile([](redis::RedisModel& server) { server.flush_scripts(); });
  room_.world.after(silence + at_once, [this] {
    if (stands()) judge_.blame("L1", "what is taken back stands: nobody reads that it was not");
  });
  static_cast<void>(lock.acquire({.wait = 2 * (silence + at_once)}));
  tried_ = true;
}

void RedlockReturns::meanwhile(const std::function<void(redis::RedisModel&)>& what) {
  const auto& hosts = room_.network.hosts();
  for (const auto& [id, connection] : room_.network.connections()) {
    if (&connection->process() != rival_ || !connection->held()) continue;
    if (connection->host().number() < hosts[servers_.size()]->number()) continue;
    connection->stall(Connection::Way::down, room_.world.now() + silence);
  }
  room_.world.after(to_arrive, [this, what] {
    for (redis::RedisModel* const server : servers_) what(*server);
  });
}

bool RedlockReturns::stands() const {
  return std::any_of(servers_.begin(), servers_.end(),
                     [](redis::RedisModel* server) { return server->lock(key).held; });
}

}  // namespace simulation
