// SPDX-License-Identifier: MIT
#include "model/redis_history_store.hpp"

#include <mortise/redis.hpp>

#include "model/seed.hpp"
#include "redis/lock_key.hpp"

#include <chrono>
#include <filesystem>
#include <utility>

namespace mortise::model {

namespace {

using namespace std::chrono_literals;
using contract::Hook;
using test::Proxy;
using Connections = Proxy::Connections;

constexpr std::chrono::nanoseconds longest_disturbance{250ms};

RedisHistoryStore& store_of(Stage& stage) { return static_cast<RedisHistoryStore&>(*stage.store); }

test::RedisServerOptions that_remembers() {
  test::RedisServerOptions options;
  options.persistence = test::RedisServerOptions::Persistence::always;
  return options;
}

Connections any_connections(Dice& dice) {
  constexpr Connections kinds[] = {Connections::all, Connections::commands, Connections::inboxes};
  return kinds[dice.below(3)];
}

void sleep_a_while(Stage& stage, Dice& dice) {
  stage.time.sleep(dice.between(50ms, longest_disturbance));
}

void kill_server(Stage& stage, Dice& dice) {
  store_of(stage).server().kill();
  if (dice.chance(0.5)) stage.time.sleep(dice.between(0ms, stage.short_lease));
  store_of(stage).server().start();
}

void stop_server(Stage& stage, Dice& dice) {
  store_of(stage).server().stop();
  stage.time.sleep(dice.between(10ms, stage.short_lease * 3 / 2));
  store_of(stage).server().resume();
}

void pause_clients(Stage& stage, Dice& dice) {
  const auto time = std::chrono::milliseconds(10 + dice.below(300));
  store_of(stage).server().talk().expect_ok(
      {"CLIENT", "PAUSE", std::to_string(time.count()), "ALL"});
  stage.time.sleep(time);
}

// One connection after the other, whichever it is, while the others go on.
void kill_connections(Stage& stage, Dice& dice) {
  test::RedisTalk talk = store_of(stage).server().talk();
  for (std::uint32_t left = 1 + dice.below(10); left > 0; --left) {
    const std::vector<test::RedisTalk::Figures> clients = talk.clients();
    const auto any = dice.below(static_cast<std::uint32_t>(clients.size()));
    talk.command({"CLIENT", "KILL", "ID", clients[any].at("id"), "SKIPME", "yes"});
    stage.time.sleep(dice.between(0ns, 20ms));
  }
}

void flush_scripts(Stage& stage, Dice& dice) {
  test::RedisTalk talk = store_of(stage).server().talk();
  for (std::uint32_t left = 1 + dice.below(10); left > 0; --left) {
    talk.expect_ok({"SCRIPT", "FLUSH"});
    stage.time.sleep(dice.between(0ns, 10ms));
  }
}

// Who listens to everything makes every dead waiter look alive.
void listen_to_all(Stage& stage, Dice& dice) {
  test::RedisTalk talk = store_of(stage).server().talk();
  talk.expect_ok({"PSUBSCRIBE", "*"});
  sleep_a_while(stage, dice);
}

void cut_connections(Stage& stage, Dice& dice) {
  for (std::uint32_t left = 1 + dice.below(5); left > 0; --left) {
    store_of(stage).network().tell(
        [which = any_connections(dice)](Proxy& proxy) { proxy.cut_all(which); });
    stage.time.sleep(dice.between(0ns, 30ms));
  }
}

void cut_replies(Stage& stage, Dice& dice) {
  for (std::uint32_t left = 1 + dice.below(5); left > 0; --left) {
    store_of(stage).network().tell(
        [bytes = dice.below(70)](Proxy& proxy) { proxy.cut_reply_after(bytes); });
    stage.time.sleep(dice.between(0ns, 30ms));
  }
}

void drip_replies(Stage& stage, Dice& dice) {
  store_of(stage).network().tell(
      [interval = dice.between(1us, 1ms)](Proxy& proxy) { proxy.drip(interval); });
  sleep_a_while(stage, dice);
  store_of(stage).network().tell([](Proxy& proxy) { proxy.drip(0ns); });
}

// Many a grant arrives when its lease is over.
void delay_pushes(Stage& stage, Dice& dice) {
  store_of(stage).network().tell([most = std::chrono::nanoseconds(stage.short_lease * 3 / 2)](
                                     Proxy& proxy) { proxy.delay_push(0ns, most); });
  sleep_a_while(stage, dice);
  store_of(stage).network().tell([](Proxy& proxy) { proxy.delay_push(0ns, 0ns); });
}

void freeze_connections(Stage& stage, Dice& dice) {
  store_of(stage).network().tell(
      [which = any_connections(dice)](Proxy& proxy) { proxy.freeze(true, which); });
  sleep_a_while(stage, dice);
  store_of(stage).network().tell([](Proxy& proxy) { proxy.freeze(false); });
}

void swallow_everything(Stage& stage, Dice& dice) {
  store_of(stage).network().tell([](Proxy& proxy) { proxy.blackhole(true); });
  sleep_a_while(stage, dice);
  store_of(stage).network().tell([](Proxy& proxy) { proxy.blackhole(false); });
}

// Clients give their connections up and ask again on new ones; then what they said first arrives.
void deliver_late(Stage& stage, Dice& dice) {
  store_of(stage).network().tell([](Proxy& proxy) { proxy.hold_requests(true); });
  sleep_a_while(stage, dice);
  store_of(stage).network().tell([](Proxy& proxy) { proxy.hold_requests(false); });
}

}  // namespace

RedisHistoryStore::RedisHistoryStore(std::string parameters)
    : parameters_(std::move(parameters)),
      server_(that_remembers()),
      network_(server_.port(), test_seed()) {}

std::unique_ptr<Backend> RedisHistoryStore::backend() {
  return redis::backend(network_.url() + (parameters_.empty() ? "" : "?" + parameters_));
}

bool RedisHistoryStore::has(Hook hook) const {
  return hook != Hook::hand_clock && hook != Hook::late_copies && hook != Hook::counts;
}

void RedisHistoryStore::set_reachable(bool reachable) {
  network_.tell([reachable](Proxy& proxy) {
    proxy.refuse(!reachable);
    if (!reachable) proxy.cut_all();
  });
}

void RedisHistoryStore::restart() {
  server_.kill();
  const auto directory = std::filesystem::path(server_.socket_path()).parent_path();
  std::filesystem::remove_all(directory / "appendonlydir");  // since Redis 7
  std::filesystem::remove(directory / "appendonly.aof");
  server_.start();
}

void RedisHistoryStore::take_away(const std::string& name) {
  server_.talk().expect_ok({"DEL", redis::lock_key("mortise:", name)});
}

void RedisHistoryStore::misbehave(const contract::Misbehaviour& how) {
  network_.tell([how](Proxy& proxy) {
    proxy.lose_request(how.lose_request);
    proxy.lose_reply(how.lose_reply);
    proxy.lose_push(how.lose_push);
    proxy.delay(how.delay_min, how.delay_max);
  });
}

std::vector<Disturbance> redis_disturbances() {
  return {{.name = "server killed", .bring_about = kill_server},
          {.name = "server stopped", .bring_about = stop_server},
          {.name = "clients paused", .bring_about = pause_clients},
          {.name = "connections killed", .bring_about = kill_connections},
          {.name = "scripts flushed", .bring_about = flush_scripts},
          {.name = "monitor", .bring_about = listen_to_all},
          {.name = "connections cut", .bring_about = cut_connections},
          {.name = "replies cut", .bring_about = cut_replies},
          {.name = "replies dripped", .bring_about = drip_replies},
          {.name = "pushes delayed", .bring_about = delay_pushes},
          {.name = "half open", .bring_about = freeze_connections},
          {.name = "black hole", .bring_about = swallow_everything},
          {.name = "late duplicates", .bring_about = deliver_late}};
}

HistoryBackend redis_processes(const std::string& name, const std::string& parameters) {
  return {.under_test = {.name = name,
                         .open =
                             [parameters](const std::shared_ptr<Clock>&) {
                               return std::make_unique<RedisHistoryStore>(parameters);
                             },
                         .answers_at_once = false},
          .disturbances = redis_disturbances(),
          .installed = test::RedisServer::installed,
          .oversleeps = 0.01,
          .long_holds = 0.02,
          .short_run = 2800ms};
}

}  // namespace mortise::model
