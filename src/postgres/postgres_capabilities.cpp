// SPDX-License-Identifier: MIT
// What a lock on PostgreSQL can promise: parts of PostgresBackend. The reasons are in
// docs/stores/postgresql.md.
#include "postgres/home.hpp"
#include "postgres/postgres_backend.hpp"

namespace mortise::postgres {

Capabilities PostgresBackend::capabilities() const {
  const Support fair = settings_.fair ? Support::yes : Support::no;
  const Hearing hearing = hearing_.load();
  return {.leases = Support::yes,
          .fencing = Support::yes,
          .fair = fair,
          .push_wakeup = hearing == Hearing::unknown  ? Support::unknown
                         : hearing == Hearing::pooled ? Support::no
                                                      : Support::yes,
          .one_wake = fair,
          .survives_restart = Support::yes,
          // With synchronous replication; the server does not tell what its standbys are for.
          .survives_failover = Support::unknown,
          .shared_mode = Support::yes,
          .permits = Support::yes,
          .once = Support::yes,
          .min_hold = Support::yes,
          .lists = Support::yes,
          .queues = Support::yes,
          .forces = Support::unknown};  // the user may not have the right to it
}

std::string PostgresBackend::describe() const { return where_; }

std::string PostgresBackend::identity() const {
  return Home{.place = lineage_.newest(), .schema = settings_.schema}.text();
}

}  // namespace mortise::postgres
