// SPDX-License-Identifier: MIT
// What it costs on PostgreSQL to take and free locks that nobody else wants, and to find one taken.
#pragma once

#include "case.hpp"
#include "placement.hpp"
#include "postgres_server.hpp"

namespace mortise::bench {

/// The p50 in microseconds of one lock() and unlock(); and of the floor, by blocking libpq: an
/// upsert, and a release whose commit waits for no disk.
[[nodiscard]] Pair postgres_cycle(Mode mode, Medium medium);

/// The p50 in microseconds of a try_lock() of a lock that another client holds; and of a plain
/// SELECT of such a row.
[[nodiscard]] Pair postgres_failed_try(Mode mode);
/// The bytes of log for a thousand of such tries.
[[nodiscard]] double log_of_failed_tries(Mode mode);

/// Cycles a second of so many threads on distinct names, through one client; and of the floor, a
/// connection a thread.
[[nodiscard]] Pair postgres_throughput(Mode mode, int threads);

/// The p50 in microseconds from unlock() in one process to the return of lock() in another; and of
/// the same by hand: LISTEN, NOTIFY with the release, and the upsert.
[[nodiscard]] double postgres_handoff(Mode mode);
[[nodiscard]] double raw_postgres_handoff(Mode mode);

}  // namespace mortise::bench
