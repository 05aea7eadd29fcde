// SPDX-License-Identifier: MIT
#include "model/redis_history_store.hpp"

#include <mortise/redis.hpp>

#include "model/network_disturbances.hpp"
#include "redis/store/lock_key.hpp"

#include <chrono>
#include <filesystem>
#include <set>
#include <utility>

namespace mortise::model {

namespace {

using namespace std::chrono_literals;

RedisHistoryStore& redis_of(Stage& stage) { return static_cast<RedisHistoryStore&>(*stage.store); }

void kill_redis(Stage& stage, Dice& dice) {
  redis_of(stage).server().kill();
  if (dice.chance(0.5)) stage.time.sleep(dice.between(0ms, stage.short_lease));
  redis_of(stage).server().start();
}

void stop_redis(Stage& stage, Dice& dice) {
  redis_of(stage).server().stop();
  stage.time.sleep(dice.between(10ms, stage.short_lease * 3 / 2));
  redis_of(stage).server().resume();
}

void pause_clients(Stage& stage, Dice& dice) {
  const auto time = std::chrono::milliseconds(10 + dice.below(300));
  redis_of(stage).server().talk().expect_ok(
      {"CLIENT", "PAUSE", std::to_string(time.count()), "ALL"});
  stage.time.sleep(time);
}

// One connection after the other, whichever it is, while the others go on.
void kill_connections(Stage& stage, Dice& dice) {
  test::RedisTalk talk = redis_of(stage).server().talk();
  for (std::uint32_t left = 1 + dice.below(10); left > 0; --left) {
    const std::vector<test::RedisTalk::Figures> clients = talk.clients();
    const auto any = dice.below(static_cast<std::uint32_t>(clients.size()));
    talk.command({"CLIENT", "KILL", "ID", clients[any].at("id"), "SKIPME", "yes"});
    stage.time.sleep(dice.between(0ns, 20ms));
  }
}

void flush_redis_scripts(Stage& stage, Dice& dice) {
  test::RedisTalk talk = redis_of(stage).server().talk();
  for (std::uint32_t left = 1 + dice.below(10); left > 0; --left) {
    talk.expect_ok({"SCRIPT", "FLUSH"});
    stage.time.sleep(dice.between(0ns, 10ms));
  }
}

// Who listens to everything makes every dead waiter look alive.
void listen_to_all(Stage& stage, Dice& dice) {
  test::RedisTalk talk = redis_of(stage).server().talk();
  talk.expect_ok({"PSUBSCRIBE", "*"});
  stage.time.sleep(dice.between(50ms, longest_disturbance));
}

}  // namespace

RedisHistoryStore::RedisHistoryStore(std::string parameters)
    : parameters_(std::move(parameters)), server_(test::durable_redis()) {
  add_network(server_.port());
}

std::unique_ptr<Backend> RedisHistoryStore::backend() {
  return redis::backend(networks().front().url() + (parameters_.empty() ? "" : "?" + parameters_));
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

std::vector<Disturbance> redis_disturbances() {
  return with_those_of_network({{.name = "server killed", .bring_about = kill_redis},
                                {.name = "server stopped", .bring_about = stop_redis},
                                {.name = "clients paused", .bring_about = pause_clients},
                                {.name = "connections killed", .bring_about = kill_connections},
                                {.name = "scripts flushed", .bring_about = flush_redis_scripts},
                                {.name = "monitor", .bring_about = listen_to_all},
                                {.name = "pushes delayed", .bring_about = delay_pushes}},
                               {.reply_bytes = 70, .slowest_drip = 1ms});
}

HistoryBackend redis_processes(const std::string& name, const std::string& parameters) {
  using contract::Quality;
  std::set<Quality> qualities{Quality::leases, Quality::once};
  // Redisson's layout has neither.
  if (parameters != "interop=redisson") {
    qualities.insert({Quality::shared, Quality::permits});
  }
  return {.under_test = {.name = name,
                         .open =
                             [parameters](const std::shared_ptr<Clock>&) {
                               return std::make_unique<RedisHistoryStore>(parameters);
                             },
                         .hooks = distant_hooks(),
                         .qualities = std::move(qualities),
                         .missing = test::RedisServer::missing,
                         .answers_at_once = false},
          .disturbances = redis_disturbances(),
          .oversleeps = 0.01,
          .long_holds = 0.02,
          .short_run = 2800ms};
}

}  // namespace mortise::model
