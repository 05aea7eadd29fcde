// SPDX-License-Identifier: MIT
#include "simulation/scene/zookeeper_crowded_readers.hpp"

#include <mortise/client.hpp>
#include <mortise/zookeeper.hpp>

#include <exception>
#include <system_error>
#include <thread>

namespace simulation {

void ZooKeeperCrowdedReaders::come() {
  Process& many = room_.world.process("crowd");
  begin(many, [this, &many] {
    mortise::Client client(mortise::zookeeper::backend(url_));
    for (int i = 1; i < readers; ++i) {
      begin(many, [this, &client] { read(client); });
      std::this_thread::sleep_for(longest_read / readers);
    }
    read(client);
    while (readers_gone_ < readers) std::this_thread::sleep_for(1ms);
  });
  begin(room_.world.process("writer"), [this] { write(); });
  World& world = room_.world;
  constexpr int lives = readers + 1;
  for (int i = 0; i < 600 && gone_ < lives && !judge_.verdict(); ++i) {
    world.run(world.now() + 50ms);
  }
  if (gone_ < lives && !judge_.verdict()) judge_.blame("L7", "readers in a crowd go on for ever");
}

template <class Life>
void ZooKeeperCrowdedReaders::begin(Process& process, Life life) {
  room_.world.spawn(process, [this, life] {
    try {
      life();
    } catch (const std::exception& error) {
      judge_.blame("exception", error.what());
    }
    ++gone_;
  });
}

void ZooKeeperCrowdedReaders::read(mortise::Client& client) {
  mortise::Lock lock =
      client.make_lock(what_is_read, {.lease = session_, .mode = mortise::Mode::shared});
  while (!over_) {
    lock.lock();
    ++reading_;
    std::this_thread::sleep_for(longest_read);
    lock.unlock();
  }
  ++readers_gone_;
}

void ZooKeeperCrowdedReaders::write() {
  while (reading_ < readers) std::this_thread::sleep_for(1ms);
  mortise::Client client(mortise::zookeeper::backend(url_));
  client.check(until_it_writes);
  mortise::Lock lock = client.make_lock(what_is_read, {.lease = session_});
  std::error_code error;
  if (!lock.acquire({.wait = until_it_writes}, error)) {
    judge_.blame("L2", "a writer is not served behind readers who join each other");
  } else {
    lock.unlock();
  }
  over_ = true;
}

}  // namespace simulation
