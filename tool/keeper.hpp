// SPDX-License-Identifier: MIT
// The process that has the lock and the command. It has a process group of its own, so that what
// the terminal and the shell send does not reach it; a front that is stopped does not stop it, and
// one that dies makes it end the command and free the lock.
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
  /// @param alive_until told to the front: it ends all if that passes
  /// @param speaker outlives the keeper: what it says is written when the lock is free already
  Keeper(const Order& order, const Link& link, SharedMoment& alive_until, const Signals& signals,
         Speaker& speaker);
  /// Takes the lock, runs the command, frees the lock. @return the status to exit with
  int keep();
  /// Prints what came of it. @return the status to exit with, where it was `status` until then
  int print(int status) { return hold_->print(status); }

 private:
  enum class Reason { none, front_gone, leftovers, hold_ends, hold_lost };

  /// @return whether the lock is held, and there is somebody to run the command for
  bool take();
  void start();
  void serve();
  void hear();
  void begin();
  void reap();
  void look_at_hold();
  /// Asks it to end, and makes it at that moment.
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
  /// The lease as it was counted last. Not the one that was asked for: what is handed over by a
  /// queue may come with a shorter one at first, which the first renewal raises.
  std::chrono::nanoseconds span_{};
  std::chrono::nanoseconds valid_{};  ///< at the last look; more now: it was renewed meanwhile
  std::optional<Command> command_;
  int cancelled_by_ = 0;  ///< the signal that ended the wait
  bool front_gone_ = false;
  bool begun_ = false;              ///< the front has said `go`, in time
  std::optional<int> wait_status_;  ///< of the command, once it has ended
  bool nothing_left_ = false;       ///< no child, and so nothing that descends from one
  Reason reason_ = Reason::none;    ///< why the command is being ended
  bool cut_off_ = false;            ///< it had not ended by itself then
  Instant last_moment_ = never;     ///< for the command, by the hold as it was when seen last
  Instant kill_at_ = never;
};

}  // namespace mortise::tool
