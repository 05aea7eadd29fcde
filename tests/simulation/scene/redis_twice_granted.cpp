// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_twice_granted.hpp"

#include <mortise/redis.hpp>

#include "simulation/scene/redis_request.hpp"
#include "support/force.hpp"

#include <chrono>
#include <thread>

namespace simulation {

void RedisTwiceGranted::come() {
  begin_client("robber", [this](Process& /*process*/, mortise::Client& client) { rob(client); });
  waiter_ = &begin_client("twice",
                          [this](Process& /*process*/, mortise::Client& client) { wait(client); });
  run_until_gone(30s, "a waiter that was granted twice is not served");
}

void RedisTwiceGranted::runs(const redis::ScriptRun& run) {
  if (!lost_ || !RedisRequest::in(run)) return;
  Connection* const from = room_.network.find(run.connection);
  if (from == nullptr || &from->process() != waiter_) return;
  lost_ = false;
  room_.world.after(Nanos(0), [this, id = run.connection] {
    if (Connection* const connection = room_.network.find(id)) connection->cut(true);
  });
}

bool RedisTwiceGranted::comes_to_ask() {
  Connection* const commands = commands_of(*waiter_);
  if (commands == nullptr) return false;
  commands->stall(Connection::Way::up, room_.world.now() + lease);
  until([this, commands] {
    return commands_of(*waiter_) != commands || commands->unacknowledged() > 0;
  });
  return commands_of(*waiter_) == commands;
}

void RedisTwiceGranted::rob(mortise::Client& client) {
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  lock.lock();
  held_ = true;
  until([this] { return server_.lock(key_of(name)).waiting == 1; });
  std::this_thread::sleep_for(to_arrive);
  const bool asks = comes_to_ask();
  lock.unlock();
  until([this] { return told_; });
  if (asks) take_the_grant();
  over_ = true;
}

// It hears of that, or not.
void RedisTwiceGranted::take_the_grant() {
  Connection* const commands = commands_of(*waiter_);
  Connection* const inbox = inbox_of(*waiter_);
  if (commands == nullptr || inbox == nullptr) return;
  if (random_.chance(0.5)) inbox->stall(Connection::Way::down, room_.world.now() + to_find_out);
  mortise::test::force_release(mortise::redis::backend(url_), name, lease);
  std::this_thread::sleep_for(to_arrive);
  lost_ = true;
  commands->flow();
  std::this_thread::sleep_for(to_find_out);
  if (server_.lock(key_of(name)).held) {
    judge_.blame("S5", "a lock is held by an attempt of whose second grant nobody was told");
  }
}

void RedisTwiceGranted::wait(mortise::Client& client) {
  until([this] { return held_; });
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  lock.lock();
  told_ = true;
  until([this] { return over_; });
  static_cast<void>(lock.release());
}

}  // namespace simulation
