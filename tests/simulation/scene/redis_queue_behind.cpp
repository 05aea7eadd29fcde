// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_queue_behind.hpp"

#include <chrono>
#include <thread>
#include <vector>

namespace simulation {

void RedisQueueBehind::come() {
  begin_client("host", [this](Process& /*process*/, mortise::Client& client) { hold(client); });
  begin_client("behind", [this](Process& /*process*/, mortise::Client& client) { wait(client); });
  run_until_gone(30s, "a waiter behind a crowd is not served");
}

// On no stack of a thread: scripts run.
void RedisQueueBehind::gather() {
  const std::uint64_t size = random_.chance(often_many) ? many : few;
  people_ = crowd_.queue(key_of(name), size, lease);
}

void RedisQueueBehind::leave() {
  const std::vector<std::string> leavers(people_.begin() + 1, people_.end());
  crowd_.leave(key_of(name), leavers);
  left_ = true;
}

void RedisQueueBehind::hold(mortise::Client& client) {
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  lock.lock();
  room_.world.after(Nanos(0), [this] { gather(); });
  until([this] { return server_.lock(key_of(name)).waiting > people_.size(); });
  std::this_thread::sleep_for(to_arrive);
  room_.world.after(Nanos(0), [this] { leave(); });
  until([this] { return left_; });
  freed_at_ = room_.world.now();
  lock.unlock();
}

void RedisQueueBehind::wait(mortise::Client& client) {
  until([this] { return !people_.empty(); });
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  lock.lock();
  const Nanos late = room_.world.now() - freed_at_;
  if (late > bound_) {
    judge_.blame("L2", "a waiter behind a crowd that has left has a free name " +
                           std::to_string(late.count()) + " ns after it was freed");
  }
  lock.unlock();
}

}  // namespace simulation
