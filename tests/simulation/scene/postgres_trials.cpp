// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_trials.hpp"

#include <algorithm>

namespace simulation {
namespace {

constexpr std::uint64_t shares_stream = 43;
constexpr std::uint64_t lost_grants_stream = 44;

// Trials wait for a few flushes, and have bounds of their own.
constexpr Nanos longest_flush_of_a_trial = std::chrono::milliseconds(3);

/// Its commits wait for a standby, so that they can be in doubt; and nobody else is there.
postgres::Options options_of_a_trial(Nanos flush) {
  postgres::Options options;
  options.standby = postgres::Standby::synchronous;
  options.flush = std::min(flush, longest_flush_of_a_trial);
  options.pause_every = 0;
  return options;
}

}  // namespace

PostgresTrials::PostgresTrials(Room& room, Judge& judge, Nanos flush, std::string_view mistake,
                               std::uint64_t seed)
    : trial_(room, judge, options_of_a_trial(flush), mistake),
      shares_(trial_, Random::of({seed, shares_stream})),
      lost_grants_(room, judge, options_of_a_trial(flush).flush, mistake,
                   Random::of({seed, lost_grants_stream})) {}

void PostgresTrials::come() {
  late_bell_.come();
  if (!trial_.judge().verdict()) doubts_.come();
  if (!trial_.judge().verdict()) overtaken_.come();
  if (!trial_.judge().verdict()) steps_.come();
  if (!trial_.judge().verdict()) brief_.come();
  if (!trial_.judge().verdict()) copies_.come();
  if (!trial_.judge().verdict()) shares_.come();
  if (!trial_.judge().verdict()) leading_readers_.come();
  if (!trial_.judge().verdict()) dead_reader_.come();
  if (!trial_.judge().verdict()) cancelled_bell_.come();
  if (!trial_.judge().verdict()) unheard_writer_.come();
  if (!trial_.judge().verdict()) keys_.come();
  if (!trial_.judge().verdict()) lost_grants_.come();
}

}  // namespace simulation
