// SPDX-License-Identifier: MIT
#include "model/postgres_history_store.hpp"

#include <mortise/postgres.hpp>

#include "model/seed.hpp"

#include <chrono>
#include <utility>

namespace mortise::model {

namespace {

using namespace std::chrono_literals;
using contract::Hook;
using test::PostgresServer;
using test::PostgresTalk;
using test::Proxy;
using Connections = Proxy::Connections;

constexpr std::chrono::nanoseconds longest_disturbance{250ms};

PostgresHistoryStore& store_of(Stage& stage) {
  return static_cast<PostgresHistoryStore&>(*stage.store);
}

Connections any_connections(Dice& dice) {
  constexpr Connections kinds[] = {Connections::all, Connections::commands, Connections::inboxes};
  return kinds[dice.below(3)];
}

void sleep_a_while(Stage& stage, Dice& dice) {
  stage.time.sleep(dice.between(50ms, longest_disturbance));
}

void crash_server(Stage& stage, Dice& dice) {
  PostgresServer& server = store_of(stage).server();
  dice.chance(0.5) ? server.crash() : server.kill();
  if (dice.chance(0.5)) stage.time.sleep(dice.between(0ms, stage.short_lease));
  server.start();
}

void stop_server(Stage& stage, Dice& dice) {
  store_of(stage).server().stop();
  stage.time.sleep(dice.between(10ms, stage.short_lease * 3 / 2));
  store_of(stage).server().resume();
}

// One session after the other, whichever it is, while the others go on.
void terminate_sessions(Stage& stage, Dice& dice) {
  PostgresTalk talk = store_of(stage).server().talk();
  for (std::uint32_t left = 1 + dice.below(10); left > 0; --left) {
    const auto pids = talk.rows(
        "select pid from pg_stat_activity"
        " where usename = 'shop' and backend_type = 'client backend' order by pid");
    if (!pids.empty()) {
      const auto any = dice.below(static_cast<std::uint32_t>(pids.size()));
      talk.rows("select pg_terminate_backend($1)", pids[any]);
    }
    stage.time.sleep(dice.between(0ns, 20ms));
  }
}

// Statements that run are cancelled, as by an administrator or a time-out.
void cancel_statements(Stage& stage, Dice& dice) {
  PostgresTalk talk = store_of(stage).server().talk();
  for (std::uint32_t left = 1 + dice.below(30); left > 0; --left) {
    talk.rows("select pg_cancel_backend(pid) from pg_stat_activity where usename = 'shop'");
    stage.time.sleep(dice.between(0ns, 3ms));
  }
}

// Somebody's transaction has rows that the clients are about to change, or the whole table.
void lock_rows(Stage& stage, Dice& dice) {
  PostgresTalk talk = store_of(stage).server().talk();
  const bool all = dice.chance(0.2);
  talk.run(all ? "begin; lock table mortise.lock in access exclusive mode"
               : "begin; select * from mortise.lock order by random() limit 2 for update");
  stage.time.sleep(dice.between(10ms, all ? stage.short_lease / 2 : stage.short_lease));
  talk.run("rollback");
}

// The table is written anew under its users.
void vacuum_table(Stage& stage, Dice& dice) {
  store_of(stage).server().talk().run(dice.chance(0.5) ? "vacuum full mortise.lock"
                                                       : "vacuum mortise.lock");
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
        [bytes = dice.below(100)](Proxy& proxy) { proxy.cut_reply_after(bytes); });
    stage.time.sleep(dice.between(0ns, 30ms));
  }
}

void drip_replies(Stage& stage, Dice& dice) {
  store_of(stage).network().tell(
      [interval = dice.between(1us, 500us)](Proxy& proxy) { proxy.drip(interval); });
  sleep_a_while(stage, dice);
  store_of(stage).network().tell([](Proxy& proxy) { proxy.drip(0ns); });
}

void delay_notifications(Stage& stage, Dice& dice) {
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

PostgresHistoryStore::PostgresHistoryStore(std::string parameters)
    : parameters_(std::move(parameters)),
      // An asynchronous release is on disk late: many a crash undoes one.
      server_({.settings = {"wal_writer_delay = 2s", "max_connections = 300"}}),
      network_(server_.port(), test_seed(), test::ProxyProtocol::postgres) {
  postgres::migrate(server_.owner_url(), {.role = test::postgres_application});
}

std::unique_ptr<Backend> PostgresHistoryStore::backend() {
  return postgres::backend(PostgresServer::url_by(network_.port()) +
                           (parameters_.empty() ? "" : "?" + parameters_));
}

bool PostgresHistoryStore::has(Hook hook) const {
  return hook != Hook::hand_clock && hook != Hook::late_copies && hook != Hook::counts &&
         hook != Hook::take_away;
}

void PostgresHistoryStore::set_reachable(bool reachable) {
  network_.tell([reachable](Proxy& proxy) {
    proxy.refuse(!reachable);
    if (!reachable) proxy.cut_all();
  });
}

void PostgresHistoryStore::misbehave(const contract::Misbehaviour& how) {
  network_.tell([how](Proxy& proxy) {
    proxy.lose_request(how.lose_request);
    proxy.lose_reply(how.lose_reply);
    proxy.lose_push(how.lose_push);
    proxy.delay(how.delay_min, how.delay_max);
  });
}

std::vector<Disturbance> postgres_disturbances() {
  return {{.name = "server crashed", .bring_about = crash_server},
          {.name = "server stopped", .bring_about = stop_server},
          {.name = "sessions ended", .bring_about = terminate_sessions},
          {.name = "statements cancelled", .bring_about = cancel_statements},
          {.name = "rows locked", .bring_about = lock_rows},
          {.name = "vacuum", .bring_about = vacuum_table},
          {.name = "connections cut", .bring_about = cut_connections},
          {.name = "replies cut", .bring_about = cut_replies},
          {.name = "replies dripped", .bring_about = drip_replies},
          {.name = "notifications delayed", .bring_about = delay_notifications},
          {.name = "half open", .bring_about = freeze_connections},
          {.name = "black hole", .bring_about = swallow_everything},
          {.name = "late duplicates", .bring_about = deliver_late}};
}

HistoryBackend postgres_processes(const std::string& name, const std::string& parameters) {
  return {.under_test = {.name = name,
                         .open =
                             [parameters](const std::shared_ptr<Clock>&) {
                               return std::make_unique<PostgresHistoryStore>(parameters);
                             },
                         .answers_at_once = false},
          .disturbances = postgres_disturbances(),
          .installed = test::PostgresServer::installed,
          .oversleeps = 0.01,
          .long_holds = 0.02,
          .short_run = 2800ms,
          .fewest_grants_a_second = 8};
}

}  // namespace mortise::model
