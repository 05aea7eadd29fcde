// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_late_sentinel.hpp"

#include <mortise/client.hpp>
#include <mortise/redis.hpp>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

namespace simulation {

void RedisLateSentinel::come() {
  World& world = room_.world;
  user_ = &begin("user", [this](Process& /*process*/) { use(); });
  world.run(world.now() + 1s);
  const Host& old = group_.host(group_.master());
  group_.deafen(late_, world.now() + far);
  group_.let_old_masters_go_on(far);
  if (!group_.fail_over()) return judge_.blame("world", "nobody can take over");
  world.run(world.now() + to_be_told + to_leave);
  look_for(old, between_looks, "is with the old master, which one sentinel alone names");
  be_alone();
  look_for(old, alone, "comes back to the old master, which one sentinel alone names");
  over_ = true;
  group_.calm();
  run_until_gone(10s, "whoever was with an old master does not end");
}

// It loses its connection just then.
void RedisLateSentinel::be_alone() {
  World& world = room_.world;
  for (std::size_t i = 0; i < group_.sentinels(); ++i) {
    if (i != late_) group_.sentinel(i).pause(world.now() + alone);
  }
  for (const auto& [id, connection] : room_.network.connections()) {
    if (&connection->process() == user_) connection->cut(false);
  }
}

void RedisLateSentinel::look_for(const Host& host, Nanos time, const char* words) {
  World& world = room_.world;
  for (const Nanos end = world.now() + time; world.now() < end && !judge_.verdict();) {
    world.run(world.now() + between_looks);
    const auto& all = room_.network.connections();
    const bool there = std::any_of(all.begin(), all.end(), [&](const auto& each) {
      const Connection& connection = *each.second;
      return connection.held() && &connection.process() == user_ && &connection.host() == &host;
    });
    if (there) judge_.blame("L7", std::string("whoever uses a lock ") + words);
  }
}

void RedisLateSentinel::use() {
  mortise::Client client(mortise::redis::backend(url_));
  while (!over_) {
    mortise::Lock lock = client.make_lock(the_name, {.lease = lease});
    std::error_code error;
    if (lock.acquire({.wait = patience}, error)) lock.release(error);
    std::this_thread::sleep_for(between_two);
  }
}

}  // namespace simulation
