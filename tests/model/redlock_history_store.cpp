// SPDX-License-Identifier: MIT
#include "model/redlock_history_store.hpp"

#include <mortise/redlock.hpp>

#include "base/random_id.hpp"
#include "model/seed.hpp"
#include "redis/lock_key.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace mortise::model {

namespace {

using namespace std::chrono_literals;
using contract::Hook;
using test::Proxy;
using Connections = Proxy::Connections;

constexpr std::size_t server_count = 5;
constexpr std::chrono::nanoseconds longest_disturbance{250ms};

RedlockHistoryStore& store_of(Stage& stage) {
  return static_cast<RedlockHistoryStore&>(*stage.store);
}

test::RedisServerOptions that_remembers() {
  test::RedisServerOptions options;
  options.persistence = test::RedisServerOptions::Persistence::always;
  return options;
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

Connections any_connections(Dice& dice) {
  constexpr Connections kinds[] = {Connections::all, Connections::commands, Connections::inboxes};
  return kinds[dice.below(3)];
}

void sleep_a_while(Stage& stage, Dice& dice) {
  stage.time.sleep(dice.between(50ms, longest_disturbance));
}

void kill_servers(Stage& stage, Dice& dice) {
  const std::vector<std::size_t> which = some(dice);
  for (const std::size_t i : which) store_of(stage).servers()[i].kill();
  if (dice.chance(0.5)) stage.time.sleep(dice.between(0ms, stage.short_lease));
  for (const std::size_t i : which) store_of(stage).servers()[i].start();
}

// The delayed restart: with nothing, when all that it had voted for has ended.
void forget_a_lease_later(Stage& stage, Dice& dice) {
  const std::vector<std::size_t> which = any(dice, 1 + dice.below(2));
  for (const std::size_t i : which) {
    store_of(stage).servers()[i].kill();
    test::remove_data(store_of(stage).servers()[i]);
  }
  stage.time.sleep(stage.short_lease + stage.short_lease / 50);
  for (const std::size_t i : which) store_of(stage).servers()[i].start();
}

void stop_servers(Stage& stage, Dice& dice) {
  const std::vector<std::size_t> which = some(dice);
  for (const std::size_t i : which) store_of(stage).servers()[i].stop();
  stage.time.sleep(dice.between(10ms, stage.short_lease * 3 / 2));
  for (const std::size_t i : which) store_of(stage).servers()[i].resume();
}

void flush_scripts(Stage& stage, Dice& dice) {
  for (const std::size_t i : any(dice, server_count)) {
    store_of(stage).servers()[i].talk().expect_ok({"SCRIPT", "FLUSH"});
    stage.time.sleep(dice.between(0ns, 10ms));
  }
}

void cut_connections(Stage& stage, Dice& dice) {
  for (std::uint32_t left = 1 + dice.below(8); left > 0; --left) {
    store_of(stage)
        .network(dice.below(server_count))
        .tell([which = any_connections(dice)](Proxy& proxy) { proxy.cut_all(which); });
    stage.time.sleep(dice.between(0ns, 20ms));
  }
}

void cut_replies(Stage& stage, Dice& dice) {
  for (std::uint32_t left = 1 + dice.below(8); left > 0; --left) {
    store_of(stage).network(dice.below(server_count)).tell([bytes = dice.below(70)](Proxy& proxy) {
      proxy.cut_reply_after(bytes);
    });
    stage.time.sleep(dice.between(0ns, 20ms));
  }
}

// Something on the way to some of the servers, and its end.
template <class Begin, class End>
void disturb(Stage& stage, Dice& dice, Begin begin, End end) {
  const std::vector<std::size_t> which = some(dice);
  for (const std::size_t i : which) store_of(stage).network(i).tell(begin);
  sleep_a_while(stage, dice);
  for (const std::size_t i : which) store_of(stage).network(i).tell(end);
}

void drip_replies(Stage& stage, Dice& dice) {
  disturb(
      stage, dice, [interval = dice.between(1us, 1ms)](Proxy& proxy) { proxy.drip(interval); },
      [](Proxy& proxy) { proxy.drip(0ns); });
}

// Votes come when the others have decided, or when the lease is over.
void slow_down(Stage& stage, Dice& dice) {
  disturb(
      stage, dice,
      [most = dice.between(1ms, stage.short_lease)](Proxy& proxy) { proxy.delay(0ns, most); },
      [](Proxy& proxy) { proxy.delay(0ns, 0ns); });
}

void freeze_connections(Stage& stage, Dice& dice) {
  disturb(
      stage, dice, [which = any_connections(dice)](Proxy& proxy) { proxy.freeze(true, which); },
      [](Proxy& proxy) { proxy.freeze(false); });
}

void swallow_everything(Stage& stage, Dice& dice) {
  disturb(
      stage, dice, [](Proxy& proxy) { proxy.blackhole(true); },
      [](Proxy& proxy) { proxy.blackhole(false); });
}

void part(Stage& stage, Dice& dice) {
  disturb(
      stage, dice,
      [](Proxy& proxy) {
        proxy.refuse(true);
        proxy.cut_all();
      },
      [](Proxy& proxy) { proxy.refuse(false); });
}

// Clients give their connections up and ask again on new ones; then what they said first arrives.
void deliver_late(Stage& stage, Dice& dice) {
  disturb(
      stage, dice, [](Proxy& proxy) { proxy.hold_requests(true); },
      [](Proxy& proxy) { proxy.hold_requests(false); });
}

}  // namespace

RedlockHistoryStore::RedlockHistoryStore(RedlockQuorum quorum)
    : quorum_(quorum), servers_(server_count, that_remembers()) {
  const std::uint64_t seed = test_seed();
  for (std::size_t i = 0; i < server_count; ++i)
    networks_.emplace_back(servers_[i].port(), seed + i);
}

std::unique_ptr<Backend> RedlockHistoryStore::backend() {
  std::vector<std::uint16_t> ports;
  for (const DistantProxy& network : networks_) ports.push_back(network.port());
  if (quorum_ == RedlockQuorum::two_of_five) {
    // Called in each client's process: only the kernel's dice fall differently there.
    for (int left = 2; left > 0; --left) {
      const auto at = static_cast<std::ptrdiff_t>(base::random_bits() % ports.size());
      ports.erase(ports.begin() + at);
    }
  }
  return redlock::backend(test::redlock_url(ports));
}

bool RedlockHistoryStore::has(Hook hook) const {
  return hook != Hook::hand_clock && hook != Hook::late_copies && hook != Hook::counts;
}

void RedlockHistoryStore::set_reachable(bool reachable) {
  for (const DistantProxy& network : networks_) {
    network.tell([reachable](Proxy& proxy) {
      proxy.refuse(!reachable);
      if (!reachable) proxy.cut_all();
    });
  }
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

void RedlockHistoryStore::misbehave(const contract::Misbehaviour& how) {
  for (const DistantProxy& network : networks_) {
    network.tell([how](Proxy& proxy) {
      proxy.lose_request(how.lose_request);
      proxy.lose_reply(how.lose_reply);
      proxy.lose_push(how.lose_push);
      proxy.delay(how.delay_min, how.delay_max);
    });
  }
}

std::vector<Disturbance> redlock_disturbances() {
  return {{.name = "servers killed", .bring_about = kill_servers},
          {.name = "restarted empty a lease later", .bring_about = forget_a_lease_later},
          {.name = "servers stopped", .bring_about = stop_servers},
          {.name = "scripts flushed", .bring_about = flush_scripts},
          {.name = "connections cut", .bring_about = cut_connections},
          {.name = "replies cut", .bring_about = cut_replies},
          {.name = "replies dripped", .bring_about = drip_replies},
          {.name = "slow servers", .bring_about = slow_down},
          {.name = "half open", .bring_about = freeze_connections},
          {.name = "black holes", .bring_about = swallow_everything},
          {.name = "partition", .bring_about = part},
          {.name = "late duplicates", .bring_about = deliver_late}};
}

HistoryBackend redlock_processes(const std::string& name, RedlockQuorum quorum) {
  return {.under_test = {.name = name,
                         .open =
                             [quorum](const std::shared_ptr<Clock>&) {
                               return std::make_unique<RedlockHistoryStore>(quorum);
                             },
                         .answers_at_once = false},
          .disturbances = redlock_disturbances(),
          .installed = test::RedisServer::installed,
          .oversleeps = 0.01,
          .long_holds = 0.02,
          .short_run = 2800ms};
}

}  // namespace mortise::model
