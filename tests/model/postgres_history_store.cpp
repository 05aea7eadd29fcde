// SPDX-License-Identifier: MIT
#include "model/postgres_history_store.hpp"

#include <mortise/postgres.hpp>

#include "model/network_disturbances.hpp"

#include <chrono>
#include <utility>

namespace mortise::model {

namespace {

using namespace std::chrono_literals;
using contract::Hook;
using test::PostgresServer;
using test::PostgresTalk;

PostgresHistoryStore& postgres_of(Stage& stage) {
  return static_cast<PostgresHistoryStore&>(*stage.store);
}

void crash_server(Stage& stage, Dice& dice) {
  PostgresServer& server = postgres_of(stage).server();
  dice.chance(0.5) ? server.crash() : server.kill();
  if (dice.chance(0.5)) stage.time.sleep(dice.between(0ms, stage.short_lease));
  server.start();
}

void stop_postgres(Stage& stage, Dice& dice) {
  postgres_of(stage).server().stop();
  stage.time.sleep(dice.between(10ms, stage.short_lease * 3 / 2));
  postgres_of(stage).server().resume();
}

// One session after the other, whichever it is, while the others go on.
void terminate_sessions(Stage& stage, Dice& dice) {
  PostgresTalk talk = postgres_of(stage).server().talk();
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
  PostgresTalk talk = postgres_of(stage).server().talk();
  for (std::uint32_t left = 1 + dice.below(30); left > 0; --left) {
    talk.rows("select pg_cancel_backend(pid) from pg_stat_activity where usename = 'shop'");
    stage.time.sleep(dice.between(0ns, 3ms));
  }
}

// Somebody's transaction has rows that the clients are about to change, or the whole table.
void lock_rows(Stage& stage, Dice& dice) {
  PostgresTalk talk = postgres_of(stage).server().talk();
  const bool all = dice.chance(0.2);
  talk.run(all ? "begin; lock table mortise.lock in access exclusive mode"
               : "begin; select * from mortise.lock order by random() limit 2 for update");
  stage.time.sleep(dice.between(10ms, all ? stage.short_lease / 2 : stage.short_lease));
  talk.run("rollback");
}

// The table is written anew under its users.
void vacuum_table(Stage& stage, Dice& dice) {
  postgres_of(stage).server().talk().run(dice.chance(0.5) ? "vacuum full mortise.lock"
                                                          : "vacuum mortise.lock");
}

}  // namespace

PostgresHistoryStore::PostgresHistoryStore(std::string parameters)
    : parameters_(std::move(parameters)),
      // An asynchronous release is on disk late: many a crash undoes one.
      server_({.settings = {"wal_writer_delay = 2s", "max_connections = 300"}}) {
  add_network(server_.port(), test::ProxyProtocol::postgres);
  postgres::migrate(server_.owner_url(), {.role = test::postgres_application});
}

std::unique_ptr<Backend> PostgresHistoryStore::backend() {
  return postgres::backend(PostgresServer::url_by(networks().front().port()) +
                           (parameters_.empty() ? "" : "?" + parameters_));
}

std::vector<Disturbance> postgres_disturbances() {
  return with_those_of_network({{.name = "server crashed", .bring_about = crash_server},
                                {.name = "server stopped", .bring_about = stop_postgres},
                                {.name = "sessions ended", .bring_about = terminate_sessions},
                                {.name = "statements cancelled", .bring_about = cancel_statements},
                                {.name = "rows locked", .bring_about = lock_rows},
                                {.name = "vacuum", .bring_about = vacuum_table},
                                {.name = "notifications delayed", .bring_about = delay_pushes}},
                               {.reply_bytes = 100, .slowest_drip = 500us});
}

HistoryBackend postgres_processes(const std::string& name, const std::string& parameters) {
  std::set<Hook> hooks = distant_hooks();
  hooks.erase(Hook::take_away);
  return {.under_test = {.name = name,
                         .open =
                             [parameters](const std::shared_ptr<Clock>&) {
                               return std::make_unique<PostgresHistoryStore>(parameters);
                             },
                         .hooks = std::move(hooks),
                         .qualities = {contract::Quality::leases, contract::Quality::once},
                         .missing = test::PostgresServer::missing,
                         .answers_at_once = false},
          .disturbances = postgres_disturbances(),
          .oversleeps = 0.01,
          .long_holds = 0.02,
          .short_run = 2800ms,
          .fewest_grants_a_second = 8};
}

}  // namespace mortise::model
