// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_deaf_waiter.hpp"

#include <chrono>
#include <thread>

namespace simulation {

void RedisDeafWaiter::come() {
  begin_client("host", [this](Process& /*process*/, mortise::Client& client) { hold(client); });
  waiter_ = &begin_client("waiter",
                          [this](Process& /*process*/, mortise::Client& client) { wait(client); });
  run_until_gone(30s, "a waiter is not served");
}

void RedisDeafWaiter::until_act(int act) const {
  until([this, act] { return act_ >= act; });
}

void RedisDeafWaiter::hold(mortise::Client& client) {
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  for (int i = 0; i < rounds; ++i) {
    lock.lock();
    ++act_;
    until_act(3 * i + 2);
    std::this_thread::sleep_for(to_arrive);
    if (Connection* const its = inbox(); its != nullptr && i == 0) {
      forget_(*its);
      std::this_thread::sleep_for(until_it_finds_out);
    }
    if (Connection* const its = inbox()) {
      its->stall(Connection::Way::down, room_.world.now() + until_it_asks);
    }
    lock.unlock();
    until_act(3 * i + 3);
  }
  if (is_told()) free_for_the_deaf(lock);
}

// Otherwise who waits is told to look, and granted by the answer.
bool RedisDeafWaiter::is_told() const { return url_.find('?') == std::string::npos; }

void RedisDeafWaiter::free_for_the_deaf(mortise::Lock& lock) {
  World& world = room_.world;
  lock.lock();
  ++act_;
  until_act(3 * rounds + 2);
  std::this_thread::sleep_for(to_arrive);
  if (Connection* const its = inbox()) its->stall(Connection::Way::down, world.now() + lease);
  room_.network.part(*waiter_, host(), world.now() + provisional_lease + to_arrive);
  lock.unlock();
  std::this_thread::sleep_for(provisional_lease);
  if (!lock.try_lock_for(to_lapse)) {
    return judge_.blame("L1", "a waiter that hears nothing keeps what it was told for its lease");
  }
  for (int i = 0; i < 300 && server_.lock(key_of(name)).waiting == 0; ++i) {
    std::this_thread::sleep_for(10ms);
  }
  lock.unlock();
  until_act(3 * rounds + 3);
  std::this_thread::sleep_for(to_arrive);
  if (lock.try_lock()) judge_.blame("S1", "a hold is given back for a push that comes late");
  ++act_;
}

void RedisDeafWaiter::wait(mortise::Client& client) {
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  for (int i = 0; i < rounds; ++i) {
    until_act(3 * i + 1);
    ++act_;
    lock.lock();
    room_.world.stop_at_place(*waiter_, 1 + random_.below(places), stop, [this] {
      if (Connection* const its = inbox()) its->flow();
    });
    const mortise::Released outcome = lock.release();
    room_.world.stop_at_place(*waiter_, 0, Nanos(0));
    if (outcome != mortise::Released::released) {
      judge_.blame("S3", "a hold that stands is told as lost by its release");
    }
    ++act_;
  }
  if (!is_told()) return;
  until_act(3 * rounds + 1);
  ++act_;
  lock.lock();
  if (Connection* const its = inbox()) its->flow();
  std::this_thread::sleep_for(to_arrive);
  ++act_;
  until_act(3 * rounds + 4);
  lock.unlock();
}

}  // namespace simulation
