// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_robbed_waiter.hpp"

#include <mortise/redis.hpp>

#include <chrono>
#include <thread>

namespace simulation {
namespace {

using namespace std::chrono_literals;

/// Of a command a client expects the answer for a sixth of it, and then it connects anew: not
/// before the waiter's question.
constexpr auto lease = 8s;
constexpr const char* name = "robbed/waiter";

/// In which a few messages have come and gone.
constexpr Nanos to_arrive = 20ms;
/// A claim is over by then.
constexpr Nanos silence = 3s;
/// What is left of a claim when the waiter has asked, a second after it did so first.
constexpr Nanos believed = 500ms;

}  // namespace

void RedisRobbedWaiter::come() {
  begin_client("robber", [this](Process& /*process*/, mortise::Client& client) { hold(client); });
  waiter_ = &begin_client("robbed",
                          [this](Process& /*process*/, mortise::Client& client) { wait(client); });
  run_until_gone(30s, "a waiter that was robbed is not served");
}

std::uint64_t RedisRobbedWaiter::waiting() const { return server_.lock(key_of(name)).waiting; }

void RedisRobbedWaiter::hold(mortise::Client& client) {
  World& world = room_.world;
  mortise::Lock lock = client.lock(name, {.lease = lease});
  lock.lock();
  held_ = true;
  until([this] { return waiting() == 1; });
  std::this_thread::sleep_for(to_arrive);
  Connection* const commands = commands_of(*waiter_);
  Connection* const inbox = inbox_of(*waiter_);
  if (commands == nullptr || inbox == nullptr) {
    return judge_.blame("L7", "a waiter has no connection");
  }
  inbox->stall(Connection::Way::down, world.now() + lease);
  lock.unlock();
  mortise::redis::force_release(url_, name, lease);
  lock.lock();
  // From its next question on.
  commands->stall(Connection::Way::down, world.now() + lease);
  until([this] { return waiting() == 1; });
  room_.network.part(*waiter_, host(), world.now() + silence);
  inbox->trickle(lease);
  std::this_thread::sleep_for(to_arrive);
  inbox->cut(true);
  commands->flow();
  commands->stall(Connection::Way::up, world.now() + silence);
  std::this_thread::sleep_for(to_arrive);
  answered_ = true;
  std::this_thread::sleep_for(silence);
  lock.unlock();
}

void RedisRobbedWaiter::wait(mortise::Client& client) {
  until([this] { return held_; });
  mortise::Lock lock = client.lock(name, {.lease = lease});
  lock.lock();
  until([this] { return answered_; });
  if (lock.valid_for() > Nanos(0)) {
    judge_.blame("S1", "a waiter that was told that it waits believes a grant of before");
  }
  static_cast<void>(lock.release());
}

}  // namespace simulation
