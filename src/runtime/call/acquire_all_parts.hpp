// SPDX-License-Identifier: MIT
// The names of one call of lock_all(): the hold of each name, and its request in flight.
#pragma once

#include <mortise/error.hpp>
#include <mortise/guards.hpp>
#include <mortise/options.hpp>

#include "runtime/call/acquire_call.hpp"
#include "runtime/call/sleep_turns.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace mortise::runtime {

class Slot;

/// A name, and the terms of its lock.
struct WantedName {
  std::shared_ptr<Slot> slot;
  std::shared_ptr<const core::Terms> terms;
};

/// A name of a call.
struct WantedPart {
  WantedName wanted;
  bool again = false;  // the part before it has the same name
  Instant began;       // by the clock of its client
  Instant until;       // by the same clock
  bool held = false;
  bool observed = false;  // the observer knows of the wait, and not of its end
  Failure failure;        // of its last request
  std::optional<Holder> holder;
  AcquireOptions options;  // of that request
  std::optional<AcquireCall> call;

  /// @return true if the call still has to take the name.
  [[nodiscard]] bool is_missing() const noexcept { return !held && !again; }
  [[nodiscard]] bool is_under_way() const noexcept { return call && !call->is_over(); }
  /// @return the remaining time.
  [[nodiscard]] core::Nanos left() const noexcept;
};

/// The requests and the holds of an `AcquireAllCall`.
class AcquireAllParts {
 public:
  /// @param wanted the constructor sorts them in the order that all clients use
  /// @param waker rings a call without a thread; null for a thread
  AcquireAllParts(std::vector<WantedName> wanted, const AcquireOptions& options, Waker* waker);
  ~AcquireAllParts();
  AcquireAllParts(const AcquireAllParts&) = delete;
  AcquireAllParts& operator=(const AcquireAllParts&) = delete;
  [[nodiscard]] std::vector<WantedPart>& all() noexcept { return parts_; }
  [[nodiscard]] bool has_thread() const noexcept { return waker_ == nullptr; }

  /// Must run before `ask()`. @param together true: the requests leave in one write
  void begin(bool together) noexcept;
  void ask(WantedPart& part, Queueing queueing);
  /// @return true if a request must sleep
  [[nodiscard]] bool advance();
  /// Sleeps until a request may have news. May return early.
  void sleep();
  /// @return the longest time to sleep.
  [[nodiscard]] core::Nanos sleeps_for() noexcept;
  /// Each request that is about to sleep reports to the observer.
  void report_wait() noexcept;
  /// Takes the results of the requests. No request may still sleep.
  void take_answers();
  /// Gives back the holds of this part and of all later parts.
  void give_back(std::size_t from);
  /// Gives back all holds, after one of these members has thrown.
  void forsake() noexcept;
  /// @return the holds, in the order in which the caller can unlock them.
  [[nodiscard]] std::vector<HeldSlot> take_slots() noexcept;

  // For a call without a thread.
  /// The caller gives the call up.
  void give_up() noexcept { grace_.give_up(); }
  /// The call must end without further answers.
  void end_now() noexcept { grace_.end_now(); }

 private:
  [[nodiscard]] bool advance(WantedPart& part);
  [[nodiscard]] bool advance_all();
  /// @return for how long the call may still wait for answers that do not change its outcome.
  [[nodiscard]] core::Nanos may_wait_for_answers() noexcept;

  const AcquireOptions& options_;
  Waker* const waker_;
  std::vector<WantedPart> parts_;
  std::vector<HeldSlot> freed_;  // has room for all
  Grace grace_;                  // of the requests of one phase
  bool gathers_ = false;         // the first requests have not left yet
  SleepTurns<AcquireCall> turns_;
};

}  // namespace mortise::runtime
