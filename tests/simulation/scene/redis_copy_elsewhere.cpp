// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_copy_elsewhere.hpp"

#include <mortise/client.hpp>
#include <mortise/redis.hpp>

#include "simulation/scene/redis_key.hpp"

#include <chrono>
#include <system_error>
#include <thread>

namespace simulation {

void RedisCopyElsewhere::come() {
  begin("asker elsewhere", [this](Process& process) { ask(process); });
  begin("next elsewhere", [this](Process& /*process*/) { take(); });
  run_until_gone(60s, "behind a slot that went and came back nobody is served");
}

void RedisCopyElsewhere::move(std::size_t to) {
  const std::uint16_t slot = redis::Slots::slot_of(key_of(the_name));
  shards_.move(slot, to, quickly);
  until([this, slot] { return !shards_.moves(slot); });
}

// By which nobody listens: the name is free whenever it is asked for.
Connection* RedisCopyElsewhere::connection_to(std::size_t server, const Process& process) const {
  for (const auto& [id, connection] : room_.network.connections()) {
    if (connection->held() && &connection->process() == &process &&
        connection->host().number() == server) {
      return connection.get();
    }
  }
  return nullptr;
}

void RedisCopyElsewhere::take_and_leave(mortise::Client& client, const std::string& name) {
  mortise::Lock lock = client.make_lock(name, {.lease = lease});
  lock.lock();
  lock.unlock();
}

void RedisCopyElsewhere::ask(const Process& process) {
  const std::size_t home = shards_.place_of(key_of(the_name));
  const std::size_t elsewhere = (home + 1) % shards_.size();
  std::string beside = the_name;
  while (shards_.place_of(key_of(beside)) != elsewhere) beside += '+';
  mortise::Client client(mortise::redis::backend(url_));
  // The connection to its first server is made once more, and is the younger one.
  for (const std::string& name : {std::string(the_name), beside}) take_and_leave(client, name);
  if (Connection* const first = connection_to(home, process)) first->cut(false);
  take_and_leave(client, the_name);
  Connection* const connection = connection_to(home, process);
  if (connection == nullptr) return judge_.blame("L7", "whoever asks has no connection");
  const ConnectionId id = connection->id();
  connection->stall(Connection::Way::up, room_.world.now() + on_its_way);
  std::thread asker([&client] { take_and_leave(client, the_name); });
  const auto under_way = [this, id] { return room_.network.find(id); };
  until([&] { return under_way() == nullptr || under_way()->unacknowledged() > 0; });
  move(elsewhere);
  if (Connection* const its = under_way()) its->cut(true);
  asker.join();
  std::this_thread::sleep_for(to_look);
  move(home);
  if (Connection* const its = under_way()) its->flow();
  std::this_thread::sleep_for(to_arrive);
  arrived_ = true;
  // It stays: what its client would give back at its end is not given back.
  std::this_thread::sleep_for(at_once + to_arrive);
}

void RedisCopyElsewhere::take() {
  mortise::Client client(mortise::redis::backend(url_));
  client.check(at_once);
  until([this] { return arrived_; });
  mortise::Lock lock = client.make_lock(the_name, {.lease = lease});
  std::error_code error;
  if (lock.acquire({.wait = at_once}, error)) return lock.unlock();
  judge_.blame("S5",
               "a request that comes late, when its slot has gone and come back, takes a "
               "free name for nobody: " +
                   error.message());
}

}  // namespace simulation
