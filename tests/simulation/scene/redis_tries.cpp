// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_tries.hpp"

#include <chrono>
#include <thread>

namespace simulation {

void RedisTries::come() {
  begin_client("host", [this](Process& /*process*/, mortise::Client& client) { hold(client); });
  newcomer_ = &begin_client(
      "newcomer", [this](Process& /*process*/, mortise::Client& client) { try_first(client); });
  run_until_gone(30s, "who tries a lock gets no answer");
}

// The server has answered the newcomer. With what it asks besides that its answers are late once
// more, for as long as others need to try.
void RedisTries::runs(const redis::ScriptRun& run) {
  const Connection* const from = room_.network.find(run.connection);
  if (newcomer_ == nullptr || from == nullptr || &from->process() != newcomer_) return;
  const Nanos time = ++asked_ > 1 ? to_come_up : late;
  room_.world.after(Nanos(0), [this, id = run.connection, time] {
    Connection* const its = room_.network.find(id);
    if (its != nullptr) its->stall(Connection::Way::both, room_.world.now() + time);
  });
}

void RedisTries::hold(mortise::Client& client) {
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  lock.lock();
  held_ = true;
  until([this] { return asked_ > 0; });
  std::this_thread::sleep_for(to_come_up);
  lock.unlock();
  freed_ = true;
  until([this] { return refused_; });
  // It was free before the newcomer's only try was answered, and is so since.
  for (int i = 0; i < 20; ++i) {
    if (!lock.try_lock()) {
      return judge_.blame("try", "a lock is told as held that nobody has had or wanted since");
    }
    lock.unlock();
    std::this_thread::sleep_for(random_.spread(Nanos(20'000), Nanos(2'000'000)));
  }
}

void RedisTries::try_first(mortise::Client& client) {
  until([this] { return held_; });
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  if (lock.try_lock()) return judge_.blame("S1", "a lock that is held is given to who tries it");
  if (!freed_) judge_.blame("trial", "a try was answered before the lock was free");
  refused_ = true;
}

}  // namespace simulation
