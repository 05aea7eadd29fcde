// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_moved_waiter.hpp"

#include "simulation/scene/redis_request.hpp"

#include <chrono>
#include <thread>

namespace simulation {

void RedisMovedWaiter::come() {
  begin_client("settled", [this](Process& /*process*/, mortise::Client& client) { hold(client); });
  waiter_ = &begin_client("moved",
                          [this](Process& /*process*/, mortise::Client& client) { wait(client); });
  run_until_gone(30s, "a waiter whose server has moved is not served");
}

void RedisMovedWaiter::move() {
  World& world = room_.world;
  const Nanos ahead = random_.between(1s, most_ahead);
  host().restart(world.now() + away, true);
  world.after(away, [this, ahead] {
    host().step_wall_clock(ahead);
    moved_ = true;
  });
}

// It has asked at once, when its inbox was not there yet, and asks again with it.
void RedisMovedWaiter::runs(const redis::ScriptRun& run) {
  const auto request = RedisRequest::in(run);
  if (!moved_ || believed_ || !request) return;
  Connection* const from = room_.network.find(run.connection);
  if (from == nullptr || &from->process() != waiter_) return;
  from->stall(Connection::Way::down, room_.world.now() + lease);
  asked_ = asked_ || request->queued();
}

void RedisMovedWaiter::hold(mortise::Client& client) {
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  lock.lock();
  held_ = true;
  until([this] { return server_.lock(key_of(name)).waiting == 1; });
  std::this_thread::sleep_for(to_arrive);
  move();
  until([this] { return asked_; });
  lock.unlock();
  std::this_thread::sleep_for(to_arrive);
  moved_ = false;
  for (const auto& [id, connection] : room_.network.connections()) {
    if (&connection->process() == waiter_ && connection->held()) connection->flow();
  }
}

void RedisMovedWaiter::wait(mortise::Client& client) {
  until([this] { return held_; });
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  lock.lock();
  const Nanos left = lock.valid_for();
  const Nanos end = std::chrono::microseconds(server_.lock(key_of(name)).ends);
  believed_ = true;
  if (left > end - host().wall()) {
    judge_.blame("S1", "a waiter whose server has moved believes that it holds for " +
                           std::to_string((left - end + host().wall()).count()) +
                           " ns longer than it does");
  }
  lock.unlock();
}

}  // namespace simulation
