// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_lost_master.hpp"

#include <mortise/redis.hpp>

#include "core/figures.hpp"
#include "simulation/scene/bounds.hpp"
#include "simulation/scene/redis_key.hpp"

#include <chrono>
#include <optional>
#include <system_error>
#include <thread>

namespace simulation {

void RedisLostMaster::come() {
  until_whole(30s);
  if (!judge_.verdict()) goes_on();
  until_whole(30s);
  if (!judge_.verdict()) gives_on();
  until_whole(30s);
  if (waits_ && !judge_.verdict()) dies_of_a_grant();
  until_whole(30s);
}

void RedisLostMaster::until_whole(Nanos patience) {
  World& world = room_.world;
  const Nanos end = world.now() + patience;
  while (!group_.is_whole() && world.now() < end && !judge_.verdict())
    world.run(world.now() + 50ms);
  if (!group_.is_whole() && !judge_.verdict()) judge_.blame("world", "the servers do not settle");
}

// Whoever is still there is found by the stand, which looks each second.
void RedisLostMaster::goes_on() {
  World& world = room_.world;
  const std::size_t old = group_.master();
  group_.let_old_masters_go_on(with_the_old_one);
  group_.wire().cut_off(old, world.now() + group_.down_after() + with_the_old_one);
  const Nanos end = world.now() + group_.down_after() + 4s + 2 * with_the_old_one;
  while (world.now() < end && !judge_.verdict()) world.run(world.now() + 50ms);
}

void RedisLostMaster::gives_on() {
  begin("leaver", [this](Process& process) { leave(process); });
  begin("waiter behind", [this](Process& /*process*/) { wait_behind(); });
  run_until_gone(60s, "a name that an old master has given on is not to be had");
}

// The first copy frees it for whoever waits, and its answer is lost; the second one finds the name
// with somebody else. The next master hears of neither, and what it knows of the name does not say
// what became of the release: the judge is to know that.
void RedisLostMaster::leave(const Process& process) {
  mortise::Client client(mortise::redis::backend(url_));
  mortise::Lock lock =
      client.make_lock(lock_name(the_name), {.lease = short_lease, .label = "leaver"});
  lock.lock();
  const mortise::Token token = lock.token();
  const std::size_t old = group_.master();
  const std::string key = key_of(the_name);
  const auto at_the_old_one = [&] { return group_.server(old).lock(key); };
  held_ = true;
  until([&] { return at_the_old_one().waiting > 0; });
  std::this_thread::sleep_for(to_be_copied);
  const Nanos now = room_.world.now();
  group_.let_old_masters_go_on(with_the_old_one);
  for (std::size_t i = 0; i < group_.sentinels(); ++i) group_.deafen(i, now + with_the_old_one);
  if (!group_.fail_over()) return judge_.blame("world", "nobody can take over");
  for (const auto& [id, connection] : room_.network.connections()) {
    if (!is_command(*connection, process, old)) continue;
    connection->stall(Connection::Way::up, now + on_its_way);
  }
  std::thread cutter([&] { until([&] { return left_ || cut_what_is_said(process, old); }); });
  std::error_code error;
  const mortise::Released outcome = lock.release(error);
  left_ = true;
  cutter.join();
  if (outcome == mortise::Released::was_lost) {
    judge_.blame("S3", "a hold that stood is told as lost by a release that was said twice");
  }
  if (at_the_old_one().number > token.value() / mortise::core::tokens_in_a_grant &&
      !judge_.was_given_on_in_vain(the_name, token)) {
    judge_.blame("world", "nobody has seen that an old master has given the name on");
  }
}

// It breaks behind what was said, which arrives, and is not answered.
bool RedisLostMaster::cut_what_is_said(const Process& process, std::size_t server) {
  for (const auto& [id, connection] : room_.network.connections()) {
    if (!is_command(*connection, process, server) || connection->unacknowledged() == 0) continue;
    connection->cut(true);
    connection->flow();
    return true;
  }
  return false;
}

bool RedisLostMaster::is_command(const Connection& connection, const Process& process,
                                 std::size_t server) const {
  return connection.held() && &connection.process() == &process &&
         connection.host().number() == server &&
         group_.server(server).channels_of(connection.id()).empty();
}

void RedisLostMaster::wait_behind() {
  mortise::Client client(mortise::redis::backend(url_));
  mortise::Lock lock =
      client.make_lock(lock_name(the_name), {.lease = short_lease, .label = "waiter"});
  until([this] { return held_; });
  std::error_code error;
  if (lock.acquire({.wait = 30s}, error)) {
    lock.release(error);
  } else {
    judge_.blame(
        "L7", "behind a release that was said twice a lock is not to be had: " + error.message());
  }
}

void RedisLostMaster::dies_of_a_grant() {
  begin("taker", [this](Process& process) { take(process); });
  begin("taker after", [this](Process& process) { take_after(process); });
  run_until_gone(60s, "after a fail-over a lock is not to be had");
}

// Its client asks the replicas nearly all the time, so that most grants come while it does.
void RedisLostMaster::take_beside(mortise::Client& client) {
  mortise::Lock lock = client.make_lock(beside, {.lease = lease});
  while (!asked_) {
    std::error_code error;
    judge_.called_beside();
    if (lock.acquire({.wait = 1s}, error)) lock.release(error);
  }
}

// Both are said to be asked for when they are granted: a fail-over takes its time, and whoever
// judges for how long a name was free (L2) expects that all is well.
void RedisLostMaster::take(Process& process) {
  mortise::Client client(mortise::redis::backend(url_));
  mortise::Lock lock = client.make_lock(lock_name(the_name), {.lease = lease, .label = "taker"});
  lock.lock();  // so that it is connected, and the scripts are known
  lock.unlock();
  // Nobody waits for the replicas to have a release: a hold that was released, and whose release
  // they have not, stands again at the next master, until its lease is over.
  std::this_thread::sleep_for(to_be_copied);
  until([this] { return ready_; });
  std::thread other([this, &client] { take_beside(client); });
  std::this_thread::sleep_for(to_be_copied);
  trap(the_name);
  std::error_code error;
  const bool granted = lock.acquire({.wait = 20s}, error);
  asked_ = true;
  if (granted) {
    const mortise::Owner owner = mortise::Owner::this_thread();
    const auto number =
        judge_.granted(the_name, {.process = &process,
                                  .left = [&lock, owner] { return Nanos(lock.valid_for(owner)); },
                                  .token = lock.token(owner),
                                  .asked_at = room_.world.now()});
    for (int i = 0; i < 100 && !over_; ++i) {
      std::this_thread::sleep_for(100ms);
      judge_.still_holds(the_name, number);
    }
    judge_.releasing(the_name, number);
    lock.release(error);
  }
  other.join();
}

void RedisLostMaster::take_after(Process& process) {
  mortise::Client client(mortise::redis::backend(url_));
  client.check(1s);
  mortise::Lock lock =
      client.make_lock(lock_name(the_name), {.lease = lease, .label = "taker after"});
  const std::uint64_t before = group_.fail_overs();
  ready_ = true;
  until([this, before] { return group_.fail_overs() != before; });
  std::error_code error;
  if (!lock.acquire({.wait = 30s}, error)) {
    judge_.blame("L7", "after a fail-over a lock is not to be had: " + error.message());
    return;
  }
  const mortise::Owner owner = mortise::Owner::this_thread();
  const auto number =
      judge_.granted(the_name, {.process = &process,
                                .left = [&lock, owner] { return Nanos(lock.valid_for(owner)); },
                                .token = lock.token(owner),
                                .asked_at = room_.world.now()});
  over_ = true;
  judge_.releasing(the_name, number);
  lock.release(error);
}

}  // namespace simulation
