// SPDX-License-Identifier: MIT
// Goal: the PostgreSQL backend keeps its promises whatever happens to its clients, its server and
// the way between them. Method: the suite of histories: with client processes that are killed,
// stopped beyond their leases and cut off; and with parts of this process.
#include "model/history_suite.hpp"
#include "model/postgres_history_store.hpp"
#include "support/postgres_store.hpp"

#include <chrono>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;

HistoryBackend postgres_threads() {
  return {.under_test = contract::postgres_backend(contract::PostgresWay::network),
          .long_holds = 0.01,
          .short_run = 1800ms,
          .fewest_grants_a_second = 8};
}

}  // namespace

MORTISE_HISTORIES(PostgresProcesses, postgres_processes("postgres"));
MORTISE_HISTORIES(PostgresThreads, postgres_threads());
MORTISE_HISTORIES_OF(PostgresFair, LongHistories, postgres_processes("fair", "mortise.fair=yes"));
MORTISE_HISTORIES_OF(PostgresOneConnection, LongHistories,
                     postgres_processes("one_connection", "mortise.connections=1"));

}  // namespace mortise::model
