// SPDX-License-Identifier: MIT
// The cases of the PostgreSQL backend. Each figure has a server of its own, fresh and empty.
#include "case.hpp"
#include "postgres_cycles.hpp"
#include "shape_cycles.hpp"

#include <memory>
#include <string>

namespace mortise::bench {

void add_postgres_cases(Cases& cases) {
  using enum Mode;
  add(cases, {same, crossed},
      {.name = "postgres/cycle",
       .unit = "us",
       .both = [](Mode mode) { return postgres_cycle(mode, Medium::disk); },
       .goal = 1.10});
  add(cases, {same, crossed},
      {.name = "postgres/cycle_in_memory", .unit = "us", .both = [](Mode mode) {
         return postgres_cycle(mode, Medium::memory);
       }});
  for (const Medium medium : {Medium::disk, Medium::memory}) {
    const std::string where = medium == Medium::memory ? "_in_memory" : "";
    add_shape_cycles(cases, {same, crossed}, "postgres" + where, 1, [medium](Mode mode) {
      auto bed = std::make_shared<PostgresBed>(mode, medium);
      return Bed{bed->url(), bed};
    });
  }
  add(cases, {same, crossed},
      {.name = "postgres/failed_try", .unit = "us", .both = postgres_failed_try, .goal = 1.2});
  // An absolute goal of nothing cannot be a ratio: one byte is too much already.
  add(cases, {unpinned},
      {.name = "postgres/failed_try_log",
       .unit = "bytes",
       .ours = log_of_failed_tries,
       .goal = 0.5});
  for (const int threads : {8, 32}) {
    add(cases, {unpinned},
        {.name = "postgres/throughput_" + std::to_string(threads),
         .unit = "1/s",
         .better = Better::higher,
         .both = [threads](Mode mode) { return postgres_throughput(mode, threads); },
         .goal = 0.9});
  }
  add(cases, {same, crossed},
      {.name = "postgres/handoff",
       .unit = "us",
       .ours = postgres_handoff,
       .floor = raw_postgres_handoff});
}

}  // namespace mortise::bench
