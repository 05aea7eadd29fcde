// SPDX-License-Identifier: MIT
// A connection breaks while a waiter's request is under way on it, which the server executes later.
// The thread that sees it break stands still, at one place after the other, before it has told what
// was unanswered; meanwhile the waiter's time is up, and its attempt is taken back by another
// connection, or by another life of the same. Whatever comes last, nothing may stay of the attempt
// (S5). In a storm the three hardly ever meet.
#pragma once

#include "simulation/scene/postgres_trial.hpp"

#include <cstdint>
#include <optional>

namespace mortise {
class Lock;
}

namespace simulation {

class PostgresOvertaken {
 public:
  explicit PostgresOvertaken(PostgresTrial& trial) : trial_(trial) {}
  /// Runs the world until it is over.
  void come();

 private:
  static constexpr const char* wanted_for_a_while = "overtaken/name";
  static constexpr const char* read_meanwhile = "overtaken/question";
  /// Places where a thread may stop, from the end of its connection until all is told that was not
  /// answered.
  static constexpr std::uint64_t first_place = 1;
  static constexpr std::uint64_t last_place = 24;
  static constexpr Nanos stop_before_it_tells = 20ms;
  /// The connection is made anew.
  static constexpr Nanos until_it_is_up_again = 30ms;
  /// A thread reads for all while it awaits its own answer.
  static constexpr Nanos answer_of_the_reader = 150ms;
  static constexpr Nanos until_it_reads = 3ms;
  static constexpr Nanos patience_of_the_waiter = 50ms;
  static constexpr Nanos just_before_that = 500us;
  /// The server comes to what was asked for on the broken connection.
  static constexpr Nanos late_take = 300ms;
  static constexpr Nanos until_all_is_over = 2500ms;

  void take_back(Process& process, mortise::Client& client, std::uint64_t place);
  void take_back_anew(Process& process, mortise::Client& client, std::uint64_t place);
  void try_for_a_while(Process& process, mortise::Lock& wanted);
  void break_it() const;

  PostgresTrial& trial_;
  bool asks_ = false;
  std::optional<ConnectionId> asked_by_;  // the waiter, once it does
};

}  // namespace simulation
