// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_refused_waiter.hpp"

#include <chrono>
#include <thread>

namespace simulation {

void RedisRefusedWaiter::come() {
  begin_client("host", [this](Process& /*process*/, mortise::Client& client) { hold(client); });
  waiter_ = &begin_client("refused",
                          [this](Process& /*process*/, mortise::Client& client) { wait(client); });
  run_until_gone(60s, "a waiter whose server refuses it something is not told");
}

void RedisRefusedWaiter::hold(mortise::Client& client) {
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  lock.lock();
  for (int i = 0; i < static_cast<int>(Trouble::none); ++i) {
    asked_ = i + 1;
    until([this] { return server_.lock(key_of(name)).waiting == 1; });
    std::this_thread::sleep_for(to_arrive);
    make(static_cast<Trouble>(i));
    until([this, i] { return failed_ == i + 1; });
    std::this_thread::sleep_for(refusal);
    server_.allow_all();
    std::this_thread::sleep_for(to_be_gone);
    if (server_.lock(key_of(name)).waiting == 0) continue;
    return judge_.blame("L3", "the place of a call that has failed stands in the queue: " +
                                  server_.look(key_of(name)));
  }
  lock.unlock();
}

void RedisRefusedWaiter::make(Trouble trouble) {
  Connection* const commands = commands_of(*waiter_);
  Connection* const inbox = inbox_of(*waiter_);
  switch (trouble) {
    case Trouble::denied_inbox:
      server_.deny("subscribe");
      if (inbox != nullptr) inbox->cut(true);
      return;
    case Trouble::denied_commands:
      server_.deny("info");
      if (commands != nullptr) commands->cut(true);
      return;
    case Trouble::rubbish: spoils_ = true; return;
    case Trouble::none: return;
  }
}

// In front of what it is answered when it asks again.
void RedisRefusedWaiter::runs(const redis::ScriptRun& run) {
  Connection* const from = room_.network.find(run.connection);
  if (!spoils_ || from == nullptr || &from->process() != waiter_) return;
  spoils_ = false;
  from->send_down("?\r\n");
}

void RedisRefusedWaiter::wait(mortise::Client& client) {
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  for (int i = 0; i < static_cast<int>(Trouble::none); ++i) {
    until([this, i] { return asked_ == i + 1; });
    std::error_code error;
    if (lock.acquire({}, error)) return lock.unlock();
    ++failed_;
  }
}

}  // namespace simulation
