// SPDX-License-Identifier: MIT
// The process that has the lock and the command. It has a process group of its own, so signals of
// the terminal and the shell do not reach it. A stopped front does not stop it. If the front dies,
// the keeper ends the command and frees the lock.
#pragma once

#include "alarm.hpp"
#include "command.hpp"
#include "hold.hpp"
#include "link.hpp"
#include "offspring.hpp"
#include "signals.hpp"
#include "speaker.hpp"

#include <chrono>
#include <optional>

namespace mortise::tool {

class Keeper {
 public:
  /// @param alive_until shared with the front, which ends all processes after this moment
  /// @param speaker outlives the keeper: the lock is free before all text is written
  Keeper(const Order& order, const Link& link, SharedMoment& alive_until, const Signals& signals,
         Speaker& speaker);
  /// Takes the lock, runs the command, frees the lock. @return the status to exit with
  int keep();
  /// Prints the result. @param status the exit status so far @return the exit status
  int print(int status) { return hold_->print(status); }

 private:
  enum class Reason { none, front_gone, leftovers, hold_ends, hold_lost };

  /// @return whether the lock is held and the front still waits for the command
  bool take();
  void start();
  void serve();
  void hear();
  void begin();
  void reap();
  void look_at_hold();
  /// Sends TERM to the command now, and KILL at that moment.
  void end_command(Reason reason, Instant by);
  void ask_leftovers() const;
  /// Ends this process and the command, without freeing the lock.
  [[noreturn]] void die(const char* why);
  int conclude();
  [[nodiscard]] std::chrono::nanoseconds part_of_lease(int parts) const { return span_ / parts; }

  const Order& order_;
  const Link& link_;
  SharedMoment& alive_until_;
  const Signals& signals_;
  Speaker& speaker_;
  Descriptor children_;
  Descriptor woken_;  ///< an eventfd: taken, or lost
  Alarm alarm_;
  Offspring offspring_;
  std::unique_ptr<Hold> hold_;
  /// The lease as last counted. It may be shorter than the one that was asked for: a queue hands
  /// over a lock with a shorter lease, which the first renewal raises.
  std::chrono::nanoseconds span_{};
  std::chrono::nanoseconds valid_{};  ///< at the last check; more now: it has been renewed
  std::optional<Command> command_;
  int cancelled_by_ = 0;  ///< the signal that ended the wait
  bool front_gone_ = false;
  bool begun_ = false;              ///< the front has sent `go` in time
  std::optional<int> wait_status_;  ///< of the command, once it has ended
  bool nothing_left_ = false;       ///< no child is left, and so no descendant
  Reason reason_ = Reason::none;    ///< why the command is being ended
  bool cut_off_ = false;            ///< the command had not ended by itself
  Instant last_moment_ = never;     ///< of the command, according to the last check of the hold
  Instant kill_at_ = never;
};

}  // namespace mortise::tool
