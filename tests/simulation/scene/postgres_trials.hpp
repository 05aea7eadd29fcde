// SPDX-License-Identifier: MIT
// What is tried of PostgreSQL behind every storm, one after the other, at a server of its own.
#pragma once

#include "simulation/scene/postgres_brief.hpp"
#include "simulation/scene/postgres_cancelled_bell.hpp"
#include "simulation/scene/postgres_copies.hpp"
#include "simulation/scene/postgres_dead_reader.hpp"
#include "simulation/scene/postgres_doubts.hpp"
#include "simulation/scene/postgres_keys.hpp"
#include "simulation/scene/postgres_late_bell.hpp"
#include "simulation/scene/postgres_leading_readers.hpp"
#include "simulation/scene/postgres_lost_grants.hpp"
#include "simulation/scene/postgres_overtaken.hpp"
#include "simulation/scene/postgres_shares.hpp"
#include "simulation/scene/postgres_steps.hpp"
#include "simulation/scene/postgres_trial.hpp"
#include "simulation/scene/postgres_unheard_writer.hpp"

#include <cstdint>
#include <string_view>

namespace simulation {

class PostgresTrials {
 public:
  /// @param flush of the run's server
  PostgresTrials(Room& room, Judge& judge, Nanos flush, std::string_view mistake,
                 std::uint64_t seed);
  /// Runs the world until all are over. Must live as long as the world does.
  void come();

 private:
  PostgresTrial trial_;
  PostgresLateBell late_bell_{trial_};
  PostgresDoubts doubts_{trial_};
  PostgresOvertaken overtaken_{trial_};
  PostgresSteps steps_{trial_};
  PostgresBrief brief_{trial_};
  PostgresCopies copies_{trial_};
  PostgresShares shares_;
  PostgresLeadingReaders leading_readers_{trial_};
  PostgresDeadReader dead_reader_{trial_};
  PostgresCancelledBell cancelled_bell_{trial_};
  PostgresUnheardWriter unheard_writer_{trial_};
  PostgresKeys keys_{trial_};
  PostgresLostGrants lost_grants_;  // at servers of their own
};

}  // namespace simulation
