// SPDX-License-Identifier: MIT
// `Once` on PostgreSQL: by turns on one server, since each first run waits for a disk.
#include "figure.hpp"
#include "once.hpp"
#include "postgres_server.hpp"
#include "raw_postgres.hpp"
#include "turns.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace mortise::bench {
namespace {

constexpr const char* name = "bench/postgres";

Sampler each_of(int count, const Work& work) {
  return [count, work] {
    std::vector<double> samples(static_cast<std::size_t>(count));
    for (double& sample : samples) sample = timed(1, work) / 1000;
    return samples;
  };
}

Pair run(Mode mode) {
  const PostgresBed bed(mode);
  return in_turn(
      mode, 60, [&] { return each_of(20, first_run(bed.url())); },
      [&] {
        const auto raw = std::make_shared<RawPostgres>(bed.url(), name);
        return each_of(20, locked_write(bed.url(), [raw](const std::string& payment) {
                         raw->write_receipt(payment, receipt());
                       }));
      });
}

Pair replay_beside_read(Mode mode) {
  const PostgresBed bed(mode);
  return in_turn(
      mode, 30, [&] { return each_of(100, replay(bed.url())); },
      [&] {
        const auto raw = std::make_shared<RawPostgres>(bed.url(), name);
        raw->write_receipt(name, receipt());
        return each_of(100, [raw] {
          if (raw->read_receipt(name) != receipt()) throw std::runtime_error("another receipt");
        });
      });
}

}  // namespace

void add_postgres_once(Cases& cases) {
  using enum Mode;
  add_once(cases, {same, crossed}, "postgres", why_not_once("postgresql://127.0.0.1:1/postgres"),
           {.both = run, .goal = goal_of_first_run},
           {.both = replay_beside_read, .goal = goal_of_replay});
}

}  // namespace mortise::bench
