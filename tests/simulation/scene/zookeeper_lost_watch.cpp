// SPDX-License-Identifier: MIT
#include "simulation/scene/zookeeper_lost_watch.hpp"

#include <mortise/client.hpp>
#include <mortise/zookeeper.hpp>

#include <exception>
#include <thread>

namespace simulation {

void ZooKeeperLostWatch::come() {
  begin("watched", &ZooKeeperLostWatch::hold);
  begin("watcher", &ZooKeeperLostWatch::wait);
  World& world = room_.world;
  for (int i = 0; i < 600 && gone_ < 2 && !judge_.verdict(); ++i) world.run(world.now() + 50ms);
  if (gone_ < 2 && !judge_.verdict()) judge_.blame("L7", "a waiter without a watch is not served");
}

void ZooKeeperLostWatch::begin(const char* who, void (ZooKeeperLostWatch::*life)()) {
  Process& process = room_.world.process(who);
  process.clock.offset = std::chrono::hours(1);
  room_.world.spawn(process, [this, life] {
    try {
      (this->*life)();
    } catch (const std::exception& error) {
      judge_.blame("exception", error.what());
    }
    ++gone_;
  });
}

void ZooKeeperLostWatch::hold() {
  mortise::Client client(mortise::zookeeper::backend(url_));
  mortise::Lock lock = client.make_lock(name_of_lost_watch, {.lease = session_});
  lock.lock();
  held_ = true;
  lose_the_watch(await_the_waiter());
  lock.unlock();
  std::this_thread::sleep_for(until_it_looks);
  if (!served_) judge_.blame("L2", "a waiter whose watch is lost does not look by itself");
}

void ZooKeeperLostWatch::wait() {
  while (!held_) std::this_thread::sleep_for(1ms);
  mortise::Client client(mortise::zookeeper::backend(url_));
  mortise::Lock lock = client.make_lock(name_of_lost_watch, {.lease = session_});
  lock.lock();
  served_ = true;
  lock.unlock();
}

std::int64_t ZooKeeperLostWatch::await_the_waiter() const {
  for (;;) {
    const auto queue = ensemble_.queue(queue_of_lost_watch);
    if (queue.size() == 2 && ensemble_.watches_of(queue[1].session)) return queue[1].session;
    std::this_thread::sleep_for(1ms);
  }
}

void ZooKeeperLostWatch::lose_the_watch(std::int64_t session) {
  // Otherwise it does not count on its watch yet.
  std::this_thread::sleep_for(to_be_answered);
  throttle(true);
  for (int i = 0; i < most_breaks && ensemble_.watches_of(session); ++i) {
    const auto before = ensemble_.connection_of(session);
    if (Connection* const its = before ? room_.network.find(*before) : nullptr) its->cut(true);
    for (int ms = 0; ms < ms_to_come_back; ++ms) {
      const auto now = ensemble_.connection_of(session);
      if (now && now != before) break;
      std::this_thread::sleep_for(1ms);
    }
    std::this_thread::sleep_for(to_be_answered);
  }
  throttle(false);
}

void ZooKeeperLostWatch::throttle(bool yes) {
  for (std::size_t i = 0; i < ensemble_.size(); ++i) ensemble_.throttle(i, yes);
}

}  // namespace simulation
