// SPDX-License-Identifier: MIT
// Goal: the Redis backend keeps its promises whatever happens to its clients, its server and the
// way between them. Method: the suite of histories: with client processes that are killed, stopped
// beyond their leases and cut off; and with parts of this process.
#include "model/history_suite.hpp"
#include "model/redis_history_store.hpp"
#include "support/redis_store.hpp"

#include <chrono>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;

HistoryBackend redis_threads() {
  return {.under_test = contract::redis_backend(contract::RedisWay::network),
          .long_holds = 0.01,
          .short_run = 1800ms};
}

// A grant that is pushed has a shorter lease than one that is asked for. Whoever is killed or
// stopped keeps a name for long.
HistoryBackend redis_provisional_leases() {
  HistoryBackend backend = redis_processes("claims");
  backend.under_test.short_lease = 3s;
  backend.oversleeps = 0.003;
  backend.fewest_grants_a_second = 5;
  return backend;
}

}  // namespace

MORTISE_HISTORIES(RedisProcesses, redis_processes("redis"));
MORTISE_HISTORIES(RedisThreads, redis_threads());
MORTISE_HISTORIES_OF(RedisProvisionalLeases, LongHistories, redis_provisional_leases());
MORTISE_HISTORIES_OF(RedisUnfair, LongHistories, redis_processes("unfair", "fair=no"));
MORTISE_HISTORIES_OF(RedisRedisson, LongHistories, redis_processes("redisson", "interop=redisson"));

}  // namespace mortise::model
