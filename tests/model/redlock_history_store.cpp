// SPDX-License-Identifier: MIT
#include "model/redlock_history_store.hpp"

#include <mortise/redlock.hpp>

#include "base/random_id.hpp"
#include "model/network_disturbances.hpp"
#include "redis/store/lock_key.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace mortise::model {

namespace {

using namespace std::chrono_literals;
using test::Proxy;

constexpr std::size_t server_count = 5;

RedlockHistoryStore& redlock_of(Stage& stage) {
  return static_cast<RedlockHistoryStore&>(*stage.store);
}

// In an order of chance.
std::vector<std::size_t> any(Dice& dice, std::size_t count) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < server_count; ++i) {
    numbers.insert(numbers.begin() + dice.below(static_cast<std::uint32_t>(i + 1)), i);
  }
  numbers.resize(count);
  return numbers;
}

// A minority mostly.
std::vector<std::size_t> some(Dice& dice) {
  return any(dice, dice.chance(0.7) ? 1 + dice.below(2) : 1 + dice.below(server_count));
}

std::vector<std::size_t> any_one(Dice& dice) { return {dice.below(server_count)}; }

void kill_servers(Stage& stage, Dice& dice) {
  const std::vector<std::size_t> which = some(dice);
  for (const std::size_t i : which) redlock_of(stage).servers()[i].kill();
  if (dice.chance(0.5)) stage.time.sleep(dice.between(0ms, stage.short_lease));
  for (const std::size_t i : which) redlock_of(stage).servers()[i].start();
}

// The delayed restart: with nothing, when all that it had voted for has ended.
void forget_a_lease_later(Stage& stage, Dice& dice) {
  const std::vector<std::size_t> which = any(dice, 1 + dice.below(2));
  for (const std::size_t i : which) {
    redlock_of(stage).servers()[i].kill();
    test::remove_data(redlock_of(stage).servers()[i]);
  }
  stage.time.sleep(stage.short_lease + stage.short_lease / 50);
  for (const std::size_t i : which) redlock_of(stage).servers()[i].start();
}

void stop_servers(Stage& stage, Dice& dice) {
  const std::vector<std::size_t> which = some(dice);
  for (const std::size_t i : which) redlock_of(stage).servers()[i].stop();
  stage.time.sleep(dice.between(10ms, stage.short_lease * 3 / 2));
  for (const std::size_t i : which) redlock_of(stage).servers()[i].resume();
}

void flush_redlock_scripts(Stage& stage, Dice& dice) {
  for (const std::size_t i : any(dice, server_count)) {
    redlock_of(stage).servers()[i].talk().expect_ok({"SCRIPT", "FLUSH"});
    stage.time.sleep(dice.between(0ns, 10ms));
  }
}

// Votes come when the others have decided, or when the lease is over.
void slow_down(Stage& stage, Dice& dice) {
  disturb_for_a_while(
      stage, dice, some,
      [most = dice.between(1ms, stage.short_lease)](Proxy& proxy) { proxy.delay(0ns, most); },
      [](Proxy& proxy) { proxy.delay(0ns, 0ns); });
}

void part(Stage& stage, Dice& dice) {
  disturb_for_a_while(
      stage, dice, some,
      [](Proxy& proxy) {
        proxy.refuse(true);
        proxy.cut_all();
      },
      [](Proxy& proxy) { proxy.refuse(false); });
}

}  // namespace

RedlockHistoryStore::RedlockHistoryStore(RedlockQuorum quorum)
    : quorum_(quorum), servers_(server_count, test::durable_redis()) {
  for (std::size_t i = 0; i < server_count; ++i) add_network(servers_[i].port());
}

std::unique_ptr<Backend> RedlockHistoryStore::backend() {
  std::vector<std::uint16_t> ports;
  for (const DistantProxy& network : networks()) ports.push_back(network.port());
  if (quorum_ == RedlockQuorum::two_of_five) {
    // Called in each client's process: only the kernel's dice fall differently there.
    for (int left = 2; left > 0; --left) {
      const auto at = static_cast<std::ptrdiff_t>(base::random_bits() % ports.size());
      ports.erase(ports.begin() + at);
    }
  }
  return redlock::backend(test::redlock_url(ports));
}

void RedlockHistoryStore::restart() {
  for (std::size_t i = 0; i < server_count; ++i) {
    servers_[i].kill();
    test::remove_data(servers_[i]);
  }
  for (std::size_t i = 0; i < server_count; ++i) servers_[i].start();
}

void RedlockHistoryStore::take_away(const std::string& name) {
  for (std::size_t i = 0; i < server_count; ++i) {
    servers_[i].talk().expect_ok({"DEL", redis::lock_key("mortise:", name)});
  }
}

std::vector<Disturbance> redlock_disturbances() {
  return with_those_of_network(
      {{.name = "servers killed", .bring_about = kill_servers},
       {.name = "restarted empty a lease later", .bring_about = forget_a_lease_later},
       {.name = "servers stopped", .bring_about = stop_servers},
       {.name = "scripts flushed", .bring_about = flush_redlock_scripts},
       {.name = "slow servers", .bring_about = slow_down},
       {.name = "partition", .bring_about = part}},
      {.reply_bytes = 70,
       .slowest_drip = 1ms,
       .black_hole = "black holes",
       .most_cuts = 8,
       .longest_between = 20ms,
       .cut = any_one,
       .disturbed = some});
}

HistoryBackend redlock_processes(const std::string& name, RedlockQuorum quorum) {
  return {.under_test = {.name = name,
                         .open =
                             [quorum](const std::shared_ptr<Clock>&) {
                               return std::make_unique<RedlockHistoryStore>(quorum);
                             },
                         .hooks = distant_hooks(),
                         .qualities = {contract::Quality::leases, contract::Quality::shared},
                         .missing = test::RedisServer::missing,
                         .answers_at_once = false},
          .disturbances = redlock_disturbances(),
          .oversleeps = 0.01,
          .long_holds = 0.02,
          .short_run = 2800ms};
}

}  // namespace mortise::model
