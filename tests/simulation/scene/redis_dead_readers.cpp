// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_dead_readers.hpp"

#include "core/figures.hpp"

#include <chrono>
#include <system_error>
#include <thread>

namespace simulation {

void RedisDeadReaders::come() {
  begin_client("deaf reader",
               [this](Process& process, mortise::Client& client) { lapse(process, client); });
  begin_client("reader",
               [this](Process& /*process*/, mortise::Client& client) { read_on(client); });
  begin_client("writer", [this](Process& /*process*/, mortise::Client& client) { write(client); });
  run_until_gone(30s, "a writer is not served after readers");
}

bool RedisDeadReaders::stands() const {
  return server_.lock(key_of(name)).hold(number_) != nullptr;
}

void RedisDeadReaders::lapse(Process& process, mortise::Client& client) {
  World& world = room_.world;
  mortise::Lock lock = client.make_lock(name, {.lease = lease, .mode = mortise::Mode::shared});
  lock.lock();
  number_ = lock.token().value() / mortise::core::tokens_in_a_grant;
  until([this] { return read_; });
  const Nanos later = world.now() + lease + lease / 2;
  if (Connection* const commands = commands_of(process)) {
    commands->stall(Connection::Way::up, later);
    for (int i = 0; i < 400 && commands->unacknowledged() == 0; ++i) {
      std::this_thread::sleep_for(5ms);
    }
  }
  room_.network.part(process, host(), later);
  until([this] { return !stands(); });
  lapsed_ = true;
  std::this_thread::sleep_for(later + to_arrive - world.now());
  goes_on_ = true;
  std::error_code error;
  static_cast<void>(lock.release(error));
}

void RedisDeadReaders::runs(const redis::ScriptRun& run) {
  if (!lapsed_ || run.keys.empty() || run.keys.front() != key_of(name) || !stands()) return;
  judge_.blame("S4", "a reader's hold that has lapsed stands again: " + server_.look(key_of(name)));
}

void RedisDeadReaders::read_on(mortise::Client& client) {
  until([this] { return number_ != 0; });
  mortise::Lock lock =
      client.make_lock(name, {.lease = other_lease, .mode = mortise::Mode::shared});
  lock.lock();
  read_ = true;
  until([this] { return goes_on_ && server_.lock(key_of(name)).waiting > 0; });
  std::this_thread::sleep_for(to_arrive);
  let_go_at_ = room_.world.now();
  lock.unlock();
}

void RedisDeadReaders::write(mortise::Client& client) {
  until([this] { return goes_on_; });
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  lock.lock();
  if (room_.world.now() > let_go_at_ + to_arrive) {
    judge_.blame("L2", "nobody reads any more, and who waits to write is not told");
  }
  lock.unlock();
}

}  // namespace simulation
