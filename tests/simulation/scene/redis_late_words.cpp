// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_late_words.hpp"

#include <mortise/redis.hpp>

#include "support/force.hpp"

#include <chrono>
#include <system_error>
#include <thread>

namespace simulation {

void RedisLateWords::come() {
  begin_client("late client", [this](Process& process, mortise::Client& client) {
    renew_late(process, client);
    for (int i = 0; i < refusals; ++i) release_late(process, client);
    for (int i = 0; i < stops; ++i) send_late(process, client);
    renew_what_was_taken(process, client);
  });
  run_until_gone(30s, unserved);
  if (judge_.verdict() || url_.find("redisson") == std::string::npos) return;
  for (int i = 0; i < listeners; ++i) {
    begin_client("listener",
                 [this](Process& process, mortise::Client& client) { listen(process, client); });
  }
  // What they leave in such a moment they have to leave once more.
  for (int i = 0; i < refusals; ++i) {
    const Nanos when = random_.between(5ms, 30ms);
    room_.world.after(when, [this] { server_.set_busy(true); });
    room_.world.after(when + random_.spread(100us, 2ms), [this] { server_.set_busy(false); });
  }
  run_until_gone(30s, unserved);
}

void RedisLateWords::renew_late(Process& process, mortise::Client& client) {
  World& world = room_.world;
  mortise::Lock lock = client.make_lock(renewed, {.lease = lease});
  lock.lock();
  Connection* const commands = commands_of(process);
  if (commands == nullptr) return;
  commands->stall(Connection::Way::up, world.now() + lease);
  for (int i = 0; i < 400 && commands->unacknowledged() == 0; ++i) {
    std::this_thread::sleep_for(5ms);
  }
  commands->flow();
  commands->stall(Connection::Way::up, world.now() + late);
  commands->cut(true);
  std::this_thread::sleep_for(random_.between(Nanos(10ms), late - to_arrive));
  const bool was_free = lock.release() == mortise::Released::released;
  std::this_thread::sleep_for(late + to_arrive);
  mortise::Lock next = client.make_lock(renewed, {.lease = lease});
  if (was_free && !next.try_lock_for(lease / 3)) {
    judge_.blame("L1", "a renewal that comes late keeps a name that was released");
  }
}

void RedisLateWords::release_late(Process& process, mortise::Client& client) {
  mortise::Lock first = client.make_lock(released, {.lease = lease});
  first.lock();
  std::thread successor([&client] {
    mortise::Lock lock = client.make_lock(released, {.lease = lease});
    lock.lock();
    lock.unlock();
  });
  std::this_thread::sleep_for(to_arrive);
  server_.set_busy(true);
  // Its next question: once it is there again.
  if (Connection* const inbox = inbox_of(process)) inbox->cut(true);
  room_.world.after(random_.spread(5ms, 500ms), [this] { server_.set_busy(false); });
  static_cast<void>(first.release());
  successor.join();
}

// Somebody else has the name. What it sends was written for the connection that broke, and it was
// asked for anew by the next one; the judges see what the server makes of that.
void RedisLateWords::send_late(Process& process, mortise::Client& client) {
  mortise::Client other(mortise::redis::backend(url_));
  mortise::Lock held = other.make_lock(sent, {.lease = lease});
  held.lock();
  mortise::Lock lock = client.make_lock(sent, {.lease = lease});
  room_.world.stop_at_place(process, 1 + random_.below(places), stop, [this, &process] {
    for (Connection* const its : {commands_of(process), inbox_of(process)}) {
      if (its != nullptr) its->cut(true);
    }
  });
  std::error_code error;  // unreachable, too: its time may be up before it has connected anew
  static_cast<void>(lock.acquire({.wait = 2 * stop}, error));
  if (error && error != mortise::Errc::timeout && !mortise::is_retryable(error)) {
    throw std::system_error(error);
  }
  room_.world.stop_at_place(process, 0, Nanos(0));
  held.unlock();
}

void RedisLateWords::renew_what_was_taken(Process& process, mortise::Client& client) {
  World& world = room_.world;
  mortise::Lock lock = client.make_lock(taken, {.lease = lease});
  lock.lock();
  if (Connection* const its = inbox_of(process)) {
    its->stall(Connection::Way::down, world.now() + lease);
  }
  mortise::test::force_release(mortise::redis::backend(url_), taken, lease);
  mortise::Client other(mortise::redis::backend(url_));
  mortise::Lock next = other.make_lock(taken, {.lease = lease});
  next.lock();
  std::this_thread::sleep_for(lease / 2);
  if (lock.valid_for() > Nanos(0)) {
    judge_.blame("S1", "a hold that was taken by force is renewed");
  }
  next.unlock();
}

// On each name only the last one who listens shows it.
void RedisLateWords::listen(Process& process, mortise::Client& client) {
  process.schedule.preempted = 0.2;
  process.schedule.longest = 2ms;
  const auto take_all = [&client] {
    for (int i = 0; i < names; ++i) {
      mortise::Lock lock = client.make_lock(listened_to + std::to_string(i), {.lease = lease});
      lock.lock();
      lock.unlock();
    }
  };
  std::thread other(take_all);
  take_all();
  other.join();
  process.schedule.preempted = 0;
  for (++listened_; listened_ < listeners;) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(to_leave);
  for (int i = 0; i < names; ++i) {
    const std::string name = listened_to + std::to_string(i);
    for (const ConnectionId id : server_.listeners("redisson_lock__channel:{" + name + "}")) {
      const Connection* const connection = room_.network.find(id);
      if (connection == nullptr || &connection->process() != &process) continue;
      judge_.blame("L6",
                   process.name() + " hears Redisson's channel of " + name + ", and does not wait");
    }
  }
}

}  // namespace simulation
