// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_lost_master.hpp"

#include <mortise/redis.hpp>

#include "simulation/scene/bounds.hpp"

#include <chrono>
#include <optional>
#include <system_error>
#include <thread>

namespace simulation {
namespace {

using namespace std::chrono_literals;

constexpr auto lease = 60s;
constexpr std::size_t the_name = 0;
constexpr const char* beside = "beside a lost master";
/// Longer than it takes each client to ask one sentinel after the other.
constexpr Nanos with_the_old_one = 5s;
constexpr Nanos to_be_copied = 50ms;

}  // namespace

void RedisLostMaster::come() {
  until_whole(30s);
  if (!judge_.verdict()) goes_on();
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

void RedisLostMaster::dies_of_a_grant() {
  begin("taker", [this](Process& process) { take(process); });
  begin("taker after", [this](Process& process) { take_after(process); });
  run_until_gone(60s, "after a fail-over a lock is not to be had");
}

// Its client asks the replicas nearly all the time, so that most grants come while it does.
void RedisLostMaster::take_beside(mortise::Client& client) {
  mortise::Lock lock = client.lock(beside, {.lease = lease});
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
  mortise::Lock lock = client.lock(lock_name(the_name), {.lease = lease, .label = "taker"});
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
  mortise::Lock lock = client.lock(lock_name(the_name), {.lease = lease, .label = "taker after"});
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
