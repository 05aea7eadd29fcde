// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_slot_on_its_way.hpp"

#include <mortise/client.hpp>
#include <mortise/redis.hpp>

#include "simulation/scene/redis_key.hpp"

#include <chrono>
#include <system_error>
#include <thread>

namespace simulation {

void RedisSlotOnItsWay::come() {
  shards_.go_on();
  begin("asker", [this](Process& /*process*/) { ask(); });
  begin("holder", [this](Process& /*process*/) { hold(); });
  begin("waiter", [this](Process& /*process*/) { wait(); });
  run_until_gone(60s, "a name whose slot moves is not to be had");
  shards_.calm();
}

void RedisSlotOnItsWay::move(const std::string& name, Nanos time) {
  const std::string key = key_of(name);
  const std::size_t to = (shards_.place_of(key) + 1) % shards_.size();
  shards_.move(redis::Slots::slot_of(key), to,
               {.before_keys = 1ms, .between_keys = 1ms, .after_keys = time, .before_told = 1ms});
}

void RedisSlotOnItsWay::ask() {
  mortise::Client client(mortise::redis::backend(url_));
  client.check(1s);
  move(free_name, on_the_way);
  std::this_thread::sleep_for(100ms);
  mortise::Lock lock = client.make_lock(free_name, {.lease = lease});
  const Nanos began = room_.world.now();
  std::error_code error;
  if (!lock.acquire({.wait = 10s}, error) || room_.world.now() - began > at_once) {
    judge_.blame(
        "L2", "a free name whose slot is on its way is not to be had at once: " + error.message());
    return;
  }
  lock.unlock();
}

// The first release is on the way, the second one behind it.
void RedisSlotOnItsWay::hold() {
  mortise::Client client(mortise::redis::backend(url_));
  mortise::Lock lock = client.make_lock(held_name, {.lease = lease});
  for (const bool moves : {true, false}) {
    lock.lock();
    held_ = true;
    until([this] {
      auto& server = shards_.server(shards_.place_of(key_of(held_name)));
      return server.lock(key_of(held_name)).waiting == 1;
    });
    std::this_thread::sleep_for(200ms);
    if (moves) {
      move(held_name, on_the_way);
      std::this_thread::sleep_for(500ms);
    }
    held_ = false;
    freed_at_ = room_.world.now();
    lock.unlock();
    until([this] { return freed_; });
    freed_ = false;
    if (moves) std::this_thread::sleep_for(on_the_way + 2s);
  }
}

void RedisSlotOnItsWay::wait() {
  mortise::Client client(mortise::redis::backend(url_));
  mortise::Lock lock = client.make_lock(held_name, {.lease = lease});
  for (const Nanos most : {without_a_word, by_a_message}) {
    until([this] { return held_; });
    lock.lock();
    const Nanos took = room_.world.now() - freed_at_;
    if (took > most) {
      judge_.blame("L2", "whoever waits for a name whose slot moves, or has moved, is told after " +
                             std::to_string(took.count()) + " ns");
    }
    lock.unlock();
    freed_ = true;
  }
}

}  // namespace simulation
