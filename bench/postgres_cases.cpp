// SPDX-License-Identifier: MIT
// The cases of the PostgreSQL backend. Each figure has a server of its own, fresh and empty.
#include "case.hpp"
#include "postgres_cycles.hpp"

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
  for (const bool in_memory : {false, true}) {
    const Medium medium = in_memory ? Medium::memory : Medium::disk;
    const std::string where = in_memory ? "_in_memory" : "";
    // Beside the cycle of an owner, by the library.
    add(cases, {same, crossed},
        {.name = "postgres/shared_cycle" + where,
         .unit = "us",
         .both = [medium](Mode mode) { return postgres_shared_cycle(mode, medium); },
         .goal = 1.10});
    add(cases, {same, crossed},
        {.name = "postgres/permit_cycle" + where,
         .unit = "us",
         .both = [medium](Mode mode) { return postgres_permit_cycle(mode, medium); },
         .goal = 1.10});
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
