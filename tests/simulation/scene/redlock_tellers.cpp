// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_tellers.hpp"

#include <mortise/client.hpp>
#include <mortise/redlock.hpp>

#include <chrono>
#include <thread>

namespace simulation {

void RedlockTellers::come() {
  begin("host", [this](Process& /*process*/) { hold(); });
  for (std::size_t i = 0; i < waiters_.size(); ++i) {
    waiters_[i].process = &begin("waiter", [this, i](Process& /*process*/) { wait(i); });
  }
  run_until_gone(20s, "who waits with others is not served");
}

void RedlockTellers::hold() {
  mortise::Client client(mortise::redlock::backend(url_));
  mortise::Lock first = client.make_lock(first_name, {.lease = lease});
  mortise::Lock second = client.make_lock(second_name, {.lease = lease});
  // It is connected to all of them, and has the votes of all.
  for (int i = 0; i < 3; ++i) {
    first.lock();
    second.lock();
    std::this_thread::sleep_for(to_come_up);
    if (i == 2) break;
    second.unlock();
    first.unlock();
  }
  held_ = true;
  until([this] { return ask_ == waiters_.size(); });
  std::this_thread::sleep_for(at_once);
  freed_at_ = room_.world.now();
  second.unlock();
  until([this] { return taken_; });
  first.unlock();
}

void RedlockTellers::wait(std::size_t first) {
  Waiter& self = waiters_[first];
  mortise::Client client(mortise::redlock::backend(url_));
  client.check(1s);
  for (const auto& [id, connection] : room_.network.connections()) {
    if (&connection->process() == self.process && connection->held()) self.asks_by.insert(id);
  }
  until([this] { return held_; });
  // Who waits has inboxes from then on.
  static_cast<void>(client.make_lock(first_name, {.lease = lease}).acquire({.wait = to_come_up}));
  std::this_thread::sleep_for(to_come_up);
  ++ready_;
  until([this] { return ready_ == waiters_.size(); });
  lead(self, first);
  ++ask_;
  mortise::Lock lock = client.make_lock(second_name, {.lease = lease});
  lock.lock();
  const Nanos late = room_.world.now() - freed_at_;
  if (!std::exchange(taken_, true) && late > bound_) {
    judge_.blame("L2", "none of those who wait was told of the release, and one has the name " +
                           std::to_string(late.count()) + " ns after it");
  }
  lock.unlock();
}

void RedlockTellers::lead(const Waiter& waiter, std::size_t first) {
  const Nanos now = room_.world.now();
  const Host* const its = room_.network.hosts()[first].get();
  for (const ConnectionId id : waiter.asks_by) {
    Connection* const connection = room_.network.find(id);
    if (connection == nullptr) continue;
    const bool is_first = &connection->host() == its;
    connection->stall(is_first ? Connection::Way::down : Connection::Way::up,
                      now + (is_first ? 3 : 1) * a_while);
  }
}

}  // namespace simulation
