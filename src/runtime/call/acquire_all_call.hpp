// SPDX-License-Identifier: MIT
// One call of lock_all() or lock_all_async(): carries out the decisions of core/acquire_all. The
// calling thread runs it, or a `PendingAcquireAll` steps it.
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
  /// @param waker rings a call without a thread, whose owner steps it with `advance()`; null for a
  /// thread
  AcquireAllCall(std::vector<WantedName> wanted, const AcquireOptions& options,
                 Waker* waker = nullptr);
  AcquireAllCall(const AcquireAllCall&) = delete;
  AcquireAllCall& operator=(const AcquireAllCall&) = delete;

  /// The whole call. @return why it failed; no failure = the owner holds all.
  Failure run();

  // The same in parts. While `advance()` returns true, the caller waits for the waker, or for
  // `sleeps_for()`. Then it calls `take_failure()`.

  /// Goes on until it must sleep. @return false if the call is over
  [[nodiscard]] bool advance();
  /// @return the longest time to sleep.
  [[nodiscard]] core::Nanos sleeps_for() noexcept { return parts_.sleeps_for(); }
  /// The caller gives the call up. The call ends at its next steps.
  void give_up() noexcept { parts_.give_up(); }
  /// The call must end without further answers.
  void end_now() noexcept { parts_.end_now(); }
  /// @return as `run()`
  [[nodiscard]] Failure take_failure() noexcept { return std::move(failure_); }

  // In a call of a thread, each request reports to the observer. In a call without a thread, the
  // requests do not report, because a thread of the library steps them. The call itself reports
  // once for each name:

  /// The call is about to sleep for the first time. @return whether an observer was called
  bool report_wait() noexcept;
  /// The call is over. @param why as `run()`
  void report_end(const Failure& why) noexcept;

  /// Gives back all holds, after one of these members has thrown.
  void forsake() noexcept { parts_.forsake(); }
  /// @return of a failure: whose it is; else null
  [[nodiscard]] const std::string* failed_name() const noexcept;
  /// @return the holder of that name, if the call knows it.
  [[nodiscard]] std::optional<Holder> take_holder();
  /// @return the holds, in the order in which the caller can unlock them.
  [[nodiscard]] std::vector<HeldSlot> take_slots() noexcept { return parts_.take_slots(); }

 private:
  using Machine = core::AcquireAll;
  enum class Phase : std::uint8_t { start, flight, wait, reentry, over };

  // Each member begins a phase.
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
