// SPDX-License-Identifier: MIT
// A client reads a name, and another one behind a pooler waits to write: it hears of nothing, and
// draws no ticket, but says that it waits. So whoever comes later to read is kept out until it has
// had its turn (L6): readers that come one after the other would starve it. In a storm readers of
// different clients seldom meet such a writer, and nobody is blamed for how long that one waits.
#pragma once

#include "simulation/scene/postgres_trial.hpp"

namespace simulation {

class PostgresUnheardWriter {
 public:
  explicit PostgresUnheardWriter(PostgresTrial& trial) : trial_(trial) {}
  /// Runs the world until it is over.
  void come();

 private:
  static constexpr const char* wanted_alone = "unheard/writer";
  /// Somebody reads.
  static constexpr Nanos until_it_writes = 200ms;
  /// The writer has asked, was told that others read, and has asked again.
  static constexpr Nanos until_others_come = 500ms;
  static constexpr Nanos between_tries = 100ms;
  static constexpr int times = 5;
  /// After the last of them.
  static constexpr Nanos until_nobody_reads = until_others_come + (times + 1) * between_tries;

  void come_later(mortise::Client& client) const;

  PostgresTrial& trial_;
};

}  // namespace simulation
