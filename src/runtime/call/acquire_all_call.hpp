// SPDX-License-Identifier: MIT
// One call of lock_all(): carries out what core/acquire_all decides. A thread carries the call out,
// or a call without a thread steps it.
#pragma once

#include <mortise/error.hpp>
#include <mortise/guards.hpp>
#include <mortise/options.hpp>

#include "core/acquire_all.hpp"
#include "runtime/call/acquire_all_parts.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::runtime {

/// Lives in the frame of the calling thread, or in a `PendingAcquireAll`.
class AcquireAllCall {
 public:
  /// @param wanted the constructor sorts them in the order that all clients use
  /// @param waker of a call without a thread, which is stepped by `advance()` alone; null for a
  /// thread
  AcquireAllCall(std::vector<WantedName> wanted, const AcquireOptions& options,
                 Waker* waker = nullptr);
  AcquireAllCall(const AcquireAllCall&) = delete;
  AcquireAllCall& operator=(const AcquireAllCall&) = delete;

  /// The whole call. @return why it failed; no failure = the owner holds all.
  Failure run();

  // The same in parts: wait until there may be news, or for `sleeps_for()`, as long as `advance()`
  // says so; then `take_failure()`.

  /// Does what can be done now. @return whether it has to sleep before it goes on; false = it is
  /// over
  [[nodiscard]] bool advance();
  /// @return for how long at most.
  [[nodiscard]] core::Nanos sleeps_for() noexcept { return parts_.sleeps_for(); }
  /// The caller wants it no longer. The call ends at its next steps.
  void give_up() noexcept { parts_.give_up(); }
  /// There is no time for further answers.
  void end_now() noexcept { parts_.end_now(); }
  /// @return as `run()`
  [[nodiscard]] Failure take_failure() noexcept { return std::move(failure_); }

  // The requests of a thread report to the observer by themselves. Those of a call without a thread
  // do not, because a thread of the library steps them. That call reports once for each name:

  /// The call is about to sleep for the first time. @return whether an observer was called
  bool report_wait() noexcept;
  /// The call is over. @param why as `run()`
  void report_end(const Failure& why) noexcept;

  /// Gives back whatever it has, after one of those has thrown.
  void forsake() noexcept { parts_.forsake(); }
  /// @return of a failure: whose it is; else null
  [[nodiscard]] const std::string* failed_name() const noexcept;
  /// @return the holder of that name, if it is known.
  [[nodiscard]] std::optional<Holder> take_holder();
  /// @return what is held, in the order in which it can be unlocked.
  [[nodiscard]] std::vector<HeldSlot> take_slots() noexcept { return parts_.take_slots(); }

 private:
  using Machine = core::AcquireAll;
  enum class Phase : std::uint8_t { start, flight, wait, reentry, over };

  // Each begins a phase.
  void start();
  void carry_out(Machine::Action action);
  void fly();
  void wait(WantedPart& part);
  /// Asks for the names that the caller wants more than once.
  void reenter();
  void ends(const Machine::Action& action);
  void fails(WantedPart& part, Failure why);

  // The end of a phase.
  [[nodiscard]] Machine::Flown flown();
  [[nodiscard]] Machine::Waited waited();
  void reentered();

  /// @param together how many requests left with that of the part
  [[nodiscard]] static bool cut_short(const WantedPart& part, std::size_t together) noexcept;

  const AcquireOptions& options_;
  const bool may_wait_;
  AcquireAllParts parts_;
  Machine machine_;
  Phase phase_ = Phase::start;
  std::size_t requests_ = 0;  // of the last flight
  WantedPart* waits_for_ = nullptr;
  bool told_ = false;  // the observer knows of the contention that has ended the wait
  WantedPart* failed_ = nullptr;
  Failure failure_;
};

}  // namespace mortise::runtime
