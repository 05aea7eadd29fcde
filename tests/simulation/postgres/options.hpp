// SPDX-License-Identifier: MIT
// What kind of server the model is.
#pragma once

#include "simulation/server.hpp"

#include <cstdint>
#include <set>
#include <string>

namespace simulation::postgres {

enum class Standby : std::uint8_t {
  none,
  asynchronous,  ///< has what was committed a little later; a fail-over loses the tail
  synchronous,   ///< named in synchronous_standby_names: a commit waits for it
};

struct Options {
  std::string schema = "mortise";
  std::string database{};  ///< that there is; empty: any that is asked for
  /// How long a flush of the log takes, from half of that to once and a half.
  Nanos flush = std::chrono::milliseconds(1);
  /// What was committed asynchronously is flushed this much later (wal_writer_delay).
  Nanos wal_writer_delay = std::chrono::milliseconds(200);
  int max_connections = 97;  ///< the usual 100, without those kept for superusers
  Standby standby = Standby::none;
  Nanos standby_delay = std::chrono::milliseconds(1);  ///< there, on its disk, and back
  bool in_recovery = false;                            ///< it is a standby itself, not promoted
  std::string synchronous_commit = "on";               ///< of the role, before a session sets it
  std::string default_transaction_isolation = "read committed";
  std::set<std::string> applications{};  ///< roles that may not release by force
  /// A server process is interrupted between two steps of a function, on the average once in so
  /// many; 0 = never. This is where another process comes in between.
  std::uint64_t pause_every = 64;
  Nanos longest_pause = std::chrono::milliseconds(3);
};

}  // namespace simulation::postgres
