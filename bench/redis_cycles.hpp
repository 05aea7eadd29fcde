// SPDX-License-Identifier: MIT
// What a lock and an unlock of a free name cost on Redis, from one thread and from many, by the
// library and by programs that send the same commands by hand.
#pragma once

#include "placement.hpp"

namespace mortise::bench {

/// The p50 of a cycle in microseconds: by the library; by blocking hiredis with the library's own
/// scripts; by blocking hiredis with plain scripts.
[[nodiscard]] double redis_cycle(Mode mode);
[[nodiscard]] double raw_redis_cycle(Mode mode);
[[nodiscard]] double plain_redis_cycle(Mode mode);
/// By the library while another thread of the client waits at the server for another lock.
[[nodiscard]] double redis_cycle_beside_waiter(Mode mode);
/// By the library on a cluster of three masters.
[[nodiscard]] double cluster_cycle(Mode mode);

/// The p50 of a try that finds the lock held, in microseconds: by the library, and by blocking
/// hiredis with the plain script.
[[nodiscard]] double redis_failed_try(Mode mode);
[[nodiscard]] double plain_redis_failed_try(Mode mode);

/// Cycles a second on distinct names: threads that share one client; as much as one raw thread gets
/// through 50 connections with 16 cycles under way on each; raw threads with a connection each.
[[nodiscard]] double redis_throughput(Mode mode, int threads);
[[nodiscard]] double raw_redis_throughput(Mode mode);
[[nodiscard]] double connection_each(Mode mode, int threads);
/// The CPU time of such a cycle in this process, in microseconds: of threads that share one client;
/// of one raw thread with 800 cycles in flight on one connection.
[[nodiscard]] double redis_threads_cpu(Mode mode, int threads);
[[nodiscard]] double raw_redis_cpu(Mode mode);
/// The same on a cluster of three masters, by one client; and as much as three such raw programs
/// get through together, each with a server of its own.
[[nodiscard]] double cluster_throughput(Mode mode, int threads);
[[nodiscard]] double raw_cluster_throughput(Mode mode);

}  // namespace mortise::bench
