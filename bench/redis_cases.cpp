// SPDX-License-Identifier: MIT
// The cases of the Redis backend. Each figure has a server of its own, fresh and empty.
#include "case.hpp"
#include "redis_async.hpp"
#include "redis_contended.hpp"
#include "redis_crowd.hpp"
#include "redis_cycles.hpp"
#include "redis_holds.hpp"
#include "redis_readers.hpp"
#include "redis_server.hpp"
#include "redis_shapes.hpp"
#include "redis_workers.hpp"
#include "shape_cycles.hpp"

#include <memory>
#include <string>

namespace mortise::bench {
namespace {

Work eight_workers(Mode mode) {
  const RedisServer server(mode);
  return work(server, 8, "bench/redis");
}

void add_cycles(Cases& cases) {
  using enum Mode;
  add(cases, {same, crossed},
      {.name = "redis/cycle",
       .unit = "us",
       .ours = redis_cycle,
       .floor = raw_redis_cycle,
       .goal = 1.05});
  Case beside{.name = "redis/cycle_beside_plain",
              .unit = "us",
              .ours = redis_cycle,
              .floor = plain_redis_cycle};
  beside.goal = 1.15;
  add(cases, {same}, beside);
  beside.goal = 1.05;
  add(cases, {crossed}, beside);
  add(cases, {same, crossed},
      {.name = "redis/cycle_beside_waiter",
       .unit = "us",
       .ours = redis_cycle_beside_waiter,
       .floor = redis_cycle,
       .goal = 1.05});
  add(cases, {same, crossed},
      {.name = "redis/failed_try",
       .unit = "us",
       .ours = redis_failed_try,
       .floor = plain_redis_failed_try});
  for (const int threads : {32, 64}) {
    Case many_threads{.name = "redis/throughput_" + std::to_string(threads),
                      .unit = "1/s",
                      .better = Better::higher,
                      .ours = [threads](Mode mode) { return redis_throughput(mode, threads); },
                      .floor = raw_redis_throughput,
                      .goal = 0.8};
    add(cases, {crossed}, many_threads);
    many_threads.name += "_beside_connections";
    many_threads.floor = [threads](Mode mode) { return connection_each(mode, threads); };
    many_threads.goal = 1.5;
    add(cases, {crossed}, many_threads);
  }
  add(cases, {same, crossed},
      {.name = "redis/cluster_cycle",
       .unit = "us",
       .ours = cluster_cycle,
       .floor = redis_cycle,
       .goal = 1.05});
  add(cases, {crossed},
      {.name = "redis/cluster_throughput_64",
       .unit = "1/s",
       .better = Better::higher,
       .ours = [](Mode mode) { return cluster_throughput(mode, 64); },
       .floor = raw_cluster_throughput,
       .goal = 0.8});
}

void add_contended(Cases& cases) {
  using enum Mode;
  Case handoff{
      .name = "redis/handoff", .unit = "us", .ours = redis_handoff, .floor = raw_redis_handoff};
  add(cases, {same}, handoff);
  handoff.goal = 1.15;
  add(cases, {crossed}, handoff);
  add(cases, {unpinned},
      {.name = "redis/handoff_commands", .unit = "1", .ours = commands_per_handoff, .goal = 2.2});
  add(cases, {unpinned}, {.name = "redis/handoff_pushes", .unit = "1", .ours = pushes_per_handoff});
  add(cases, {unpinned},
      {.name = "redis/contention_8",
       .unit = "1",
       .ours = [](Mode mode) { return eight_workers(mode).commands_per_grant; },
       .goal = 2.2});
  add(cases, {unpinned},
      {.name = "redis/contention_8_share",
       .unit = "1",
       .better = Better::higher,
       .ours = [](Mode mode) { return eight_workers(mode).least_by_most; },
       .goal = 0.95});
  add(cases, {same, crossed},
      {.name = "redis/threads_8",
       .unit = "1/s",
       .better = Better::higher,
       .ours = redis_threads,
       .goal = 120'000});
}

void add_resting(Cases& cases) {
  using enum Mode;
  add(cases, {unpinned},
      {.name = "redis/waiting_7",
       .unit = "% cpu",
       .ours = [](Mode mode) { return seven_waiting(mode).percent; },
       .goal = 0.1});
  add(cases, {unpinned},
      {.name = "redis/waiting_7_commands",
       .unit = "1/s",
       .ours = [](Mode mode) { return seven_waiting(mode).commands; },
       .goal = 1});
  add(cases, {unpinned},
      {.name = "redis/held_100k", .unit = "% cpu", .ours = cpu_of_renewing, .goal = 5});
  add(cases, {same},
      {.name = "redis/held_lock_client",
       .unit = "bytes",
       .ours = client_memory_of_a_hold,
       .goal = 1024});
  add(cases, {same},
      {.name = "redis/held_lock_server", .unit = "bytes", .ours = server_memory_of_a_hold});
}

void add_crowds(Cases& cases) {
  using enum Mode;
  add(cases, {same, crossed},
      {.name = "redis/outstanding_40000",
       .unit = "1/s",
       .better = Better::higher,
       .ours = [](Mode mode) { return redis_outstanding(mode, 40'000); },
       .floor = [](Mode mode) { return redis_outstanding(mode, 512); },
       .goal = 0.8});
  for (const bool stands_still : {false, true}) {
    add(cases, {unpinned},
        {.name = stands_still ? "redis/waits_10000_after_a_stop" : "redis/waits_10000",
         .unit = "1/s",
         .ours = [stands_still](Mode mode) { return redis_ten_thousand_waits(mode, stands_still); },
         .goal = 100});
  }
}

void add_async_throughput(Cases& cases, std::size_t coroutines) {
  const std::string name = "redis/async_" + std::to_string(coroutines);
  const auto cpu = [coroutines](Mode mode) { return async_cycles(mode, coroutines).cpu_us; };
  Case rate{
      .name = name,
      .unit = "1/s",
      .better = Better::higher,
      .ours = [coroutines](Mode mode) { return async_cycles(mode, coroutines).per_second; },
      .floor = raw_redis_throughput,
  };
  if (coroutines >= 800) rate.goal = 0.9;  // the floor has as many cycles in flight
  add(cases, {Mode::crossed}, rate);
  add(cases, {Mode::crossed},
      {.name = name + "_cpu", .unit = "us", .ours = cpu, .floor = raw_redis_cpu, .goal = 2.0});
  add(cases, {Mode::crossed},
      {.name = name + "_cpu_beside_threads",
       .unit = "us",
       .ours = cpu,
       .floor = [](Mode mode) { return redis_threads_cpu(mode, 32); },
       .goal = 0.5});
}

void add_async(Cases& cases) {
  using enum Mode;
  for (const std::size_t coroutines : {32U, 800U, 10'000U}) add_async_throughput(cases, coroutines);
  const auto by_threads = [](Mode mode) { return async_cycles(mode, 800, Drive::threads); };
  add(cases, {crossed},
      {.name = "redis/async_800_drive_threads",
       .unit = "1/s",
       .better = Better::higher,
       .ours = [by_threads](Mode mode) { return by_threads(mode).per_second; },
       .floor = raw_redis_throughput});
  add(cases, {crossed},
      {.name = "redis/async_800_drive_threads_cpu",
       .unit = "us",
       .ours = [by_threads](Mode mode) { return by_threads(mode).cpu_us; },
       .floor = raw_redis_cpu});
  add(cases, {same},
      {.name = "redis/pending_acquire",
       .unit = "bytes",
       .ours = memory_of_a_pending_acquire,
       .goal = 1500});
  add(cases, {same, crossed},
      {.name = "redis/async_cycle",
       .unit = "us",
       .ours = redis_async_cycle,
       .floor = redis_cycle,
       .goal = 1.1});
  add(cases, {same, crossed},
      {.name = "redis/async_handoff",
       .unit = "us",
       .ours = redis_async_handoff,
       .floor = redis_handoff,
       .goal = 1.1});
}

void add_shapes(Cases& cases) {
  using enum Mode;
  add(cases, {same, crossed},
      {.name = "shapes/lock_all_8",
       .unit = "us",
       .ours = redis_lock_all_8,
       .floor = redis_cycle,
       .goal = 2.0});
  add(cases, {crossed},
      {.name = "shapes/opposed_pairs",
       .unit = "us",
       .ours = redis_opposed_pairs,
       .floor = redis_cycle,
       .goal = 100});
  add_shape_cycles(cases, {same, crossed}, "redis", 1, [](Mode mode) {
    auto server = std::make_shared<RedisServer>(mode);
    return Bed{server->url(), server};
  });
  add(cases, {crossed},
      {.name = "shapes/readers_of_eight",
       .unit = "holds/s",
       .better = Better::higher,
       .ours = redis_readers_of_eight,
       .floor = redis_readers_of_one,
       .goal = 7});
  // A turn: what those who read have left of their 5 ms, and the round trips of the hand-over.
  add(cases, {crossed},
      {.name = "shapes/writer_among_readers",
       .unit = "ms",
       .ours = redis_writer_among_readers,
       .goal = 12});
}

}  // namespace

void add_redis_cases(Cases& cases) {
  add_shapes(cases);
  add_cycles(cases);
  add_contended(cases);
  add_resting(cases);
  add_crowds(cases);
  add_async(cases);
}

}  // namespace mortise::bench
