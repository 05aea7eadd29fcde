// SPDX-License-Identifier: MIT
// Two clients and keys of Once: what is concluded is lost on its way or comes late, a key is run
// for longer than it is kept, the server crashes right behind an outcome, its clock is set back. In
// a storm each of these takes two things that seldom come together.
#pragma once

#include <mortise/once.hpp>

#include "simulation/scene/postgres_trial.hpp"

#include <string>

namespace simulation {

class PostgresKeys {
 public:
  explicit PostgresKeys(PostgresTrial& trial) : trial_(trial) {}
  /// Runs the world until it is over.
  void come();

 private:
  static constexpr auto lease = 2s;
  static constexpr auto at_once = 0ms;
  /// A server's process stands still, of which nobody reads any more.
  static constexpr Nanos late_process = 200ms;
  static constexpr Nanos a_look = 100ms;
  /// The time to undo a run that no client knows of.
  static constexpr Nanos to_undo_it = 3s;
  /// Longer than a lease, and than the library asks for a run.
  static constexpr Nanos long_outage = 8s;
  /// Longer than the library waits before it repeats a cancel.
  static constexpr Nanos slow_cancel = 450ms;
  /// No caller waits for it any more.
  static constexpr Nanos later_than_a_call = 1500ms;
  static constexpr auto kept_briefly = 1s;
  static constexpr Nanos until_both_wait = 100ms;
  /// Who waits looks by time each second; who is told has it much earlier.
  static constexpr Nanos until_all_are_told = 300ms;
  static constexpr Nanos until_it_is_up_again = 50ms;
  static constexpr std::chrono::hours one_hour{1};

  void lose_a_conclusion(const Process& process, mortise::Client& mine, postgres::Point point);
  void conclude_too_late(const Process& process, mortise::Client& mine, mortise::Client& other);
  void begin_too_late(const Process& process, mortise::Client& mine, mortise::Client& other);
  void begin_in_an_outage(const Process& process, mortise::Client& mine, mortise::Client& other,
                          const char* name, Nanos outage, Nanos cancels_take);
  void lose_a_begin(const Process& process, Nanos outage, Nanos cancels_take);
  void forget_too_late(const Process& process, mortise::Client& mine, mortise::Client& other);
  void run_for_longer_than_kept(mortise::Client& mine, mortise::Client& other);
  void disturb_a_run(mortise::Client& mine, mortise::Client& other);
  void crash_behind_an_outcome(mortise::Client& mine);
  void set_the_clock_back(mortise::Client& mine);
  void wait_for_an_outcome();
  void expect(bool well, const char* promise, const std::string& words);
  void expect_outcome(mortise::Once& key, const std::string& result, const char* words);

  PostgresTrial& trial_;
  Nanos concluded_at_ = never;
};

}  // namespace simulation
