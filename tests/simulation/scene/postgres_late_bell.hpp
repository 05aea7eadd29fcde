// SPDX-License-Identifier: MIT
// A client tells others that a lock is free, which waits for the notifications of another
// database's sessions; what it asks for meanwhile is not to wait for that. A thread has chosen its
// only connection just before, and sends behind what tells: it must have another connection (L2).
// And a question that has to follow another one leaves in one wave with what tells: in front of it
// (L7). In a storm a thread hardly ever stops between those two steps while there is no other
// connection, and such a wave is as rare.
#pragma once

#include "simulation/scene/postgres_trial.hpp"

#include <cstdint>

namespace simulation {

class PostgresLateBell {
 public:
  explicit PostgresLateBell(PostgresTrial& trial) : trial_(trial) {}
  /// Runs the world until it is over.
  void come();

 private:
  static constexpr const char* rung_for = "bell/rung";
  static constexpr const char* wanted_then = "bell/wanted";
  /// Whoever waited for a name is remembered at the server for longer than all of this takes.
  static constexpr Nanos that_wait = 50ms;
  /// Places where a thread may stop, from its call to the last byte of its request.
  static constexpr std::uint64_t first_place = 1;
  static constexpr std::uint64_t last_place = 24;
  static constexpr Nanos before_it_asks = 1ms;
  static constexpr Nanos before_it_tells = 5ms;
  static constexpr Nanos just_behind = 50us;
  static constexpr Nanos stop_before_it_sends = 30ms;
  /// Shorter than the time after which the library sends behind it all the same.
  static constexpr Nanos line_of_others = 450ms;
  /// Another connection is made, and asked.
  static constexpr Nanos longest_way_around = 200ms;
  /// Of a connection that is busy: its first wave, the second one, and what gathers for the third.
  static constexpr const char* asked_about = "bell/question";
  static constexpr Nanos between_waves = 3ms;
  static constexpr Nanos late_release = 4 * between_waves;
  static constexpr Nanos late_question = 40ms;

  void have_a_waiter();
  void tell_and_ask(std::uint64_t place);
  void ask_when_another_comes(std::uint64_t place);
  void tell_and_ask_together();

  PostgresTrial& trial_;
};

}  // namespace simulation
