// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_robbed_waiter.hpp"

#include <mortise/redis.hpp>

#include "support/force.hpp"

#include <chrono>
#include <thread>

namespace simulation {

void RedisRobbedWaiter::come() {
  begin_client("robber", [this](Process& /*process*/, mortise::Client& client) { hold(client); });
  waiter_ = &begin_client("robbed",
                          [this](Process& /*process*/, mortise::Client& client) { wait(client); });
  run_until_gone(30s, "a waiter that was robbed is not served");
}

std::uint64_t RedisRobbedWaiter::waiting() const { return server_.lock(key_of(name)).waiting; }

void RedisRobbedWaiter::hold(mortise::Client& client) {
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  for (const Order order : {Order::grant_first, Order::answer_first}) {
    lock.lock();
    order_ = order;
    until([this] { return waiting() == 1; });
    std::this_thread::sleep_for(to_arrive);
    rob(lock);
    std::this_thread::sleep_for(silence);
    holds_ = false;
    lock.unlock();
    until([this, order] { return served_ > static_cast<int>(order); });
  }
}

void RedisRobbedWaiter::rob(mortise::Lock& lock) {
  World& world = room_.world;
  Connection* const commands = commands_of(*waiter_);
  Connection* const inbox = inbox_of(*waiter_);
  if (commands == nullptr || inbox == nullptr) {
    return judge_.blame("L7", "a waiter has no connection");
  }
  const bool grant_first = order_ == Order::grant_first;
  inbox->stall(Connection::Way::down, world.now() + lease);
  lock.unlock();
  mortise::test::force_release(mortise::redis::backend(url_), name, lease);
  lock.lock();
  holds_ = true;
  // From its next question on.
  if (grant_first) commands->stall(Connection::Way::down, world.now() + lease);
  until([this] { return waiting() == 1; });
  if (!grant_first) std::this_thread::sleep_for(to_arrive);
  answered_ = commands_of(*waiter_) != commands || inbox_of(*waiter_) != inbox;
  if (answered_) return;  // it has connected anew: nothing of that comes about
  room_.network.part(*waiter_, host(), world.now() + silence);
  inbox->trickle(lease);
  std::this_thread::sleep_for(to_arrive);
  inbox->cut(true);
  commands->flow();
  commands->stall(Connection::Way::up, world.now() + silence);
  std::this_thread::sleep_for(to_arrive);
  answered_ = true;
}

void RedisRobbedWaiter::wait(mortise::Client& client) {
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  for (const Order order : {Order::grant_first, Order::answer_first}) {
    until([this, order] { return order_ == order; });
    lock.lock();
    until([this] { return answered_; });
    if (holds_ && lock.valid_for() > Nanos(0)) {
      judge_.blame("S1", "a waiter that was told that it waits believes a grant of before");
    }
    static_cast<void>(lock.release());
    answered_ = false;
    ++served_;
  }
}

}  // namespace simulation
