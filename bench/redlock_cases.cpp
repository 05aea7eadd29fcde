// SPDX-License-Identifier: MIT
// The cases of a quorum of five Redis servers, all of them private, fresh and empty.
#include "case.hpp"
#include "redlock_cycles.hpp"

namespace mortise::bench {

void add_redlock_cases(Cases& cases) {
  using enum Mode;
  Case cycle{
      .name = "redlock/cycle", .unit = "us", .ours = redlock_cycle, .floor = raw_redlock_cycle};
  add(cases, {same}, cycle);
  cycle.goal = 1.15;
  add(cases, {crossed}, cycle);
  add(cases, {crossed},
      {.name = "redlock/cycle_without_one",
       .unit = "us",
       .ours = redlock_cycle_without_one,
       .floor = redlock_cycle,
       .goal = 1.2});
}

}  // namespace mortise::bench
