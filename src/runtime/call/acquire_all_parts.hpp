// SPDX-License-Identifier: MIT
// The names of one call of lock_all(): what each of them holds, and its request that is under way.
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

/// A name, and how it is locked.
struct WantedName {
  std::shared_ptr<Slot> slot;
  std::shared_ptr<const core::Terms> terms;
};

/// A name of a call.
struct WantedPart {
  WantedName wanted;
  bool again = false;  // of the same name as the one before it
  Instant began;       // by the clock of its client
  Instant until;       // the same
  bool held = false;
  bool observed = false;  // the observer knows of the wait, and not of its end
  Failure failure;        // of its last request
  std::optional<Holder> holder;
  AcquireOptions options;  // of that request
  std::optional<AcquireCall> call;

  /// @return whether the call still has to get it.
  [[nodiscard]] bool is_missing() const noexcept { return !held && !again; }
  [[nodiscard]] bool is_under_way() const noexcept { return call && !call->is_over(); }
  /// @return the time that is left for it.
  [[nodiscard]] core::Nanos left() const noexcept;
};

/// Part of a call.
class AcquireAllParts {
 public:
  /// @param wanted the constructor sorts them in the order that all clients use
  /// @param waker of a call without a thread; null for a thread
  AcquireAllParts(std::vector<WantedName> wanted, const AcquireOptions& options, Waker* waker);
  ~AcquireAllParts();
  AcquireAllParts(const AcquireAllParts&) = delete;
  AcquireAllParts& operator=(const AcquireAllParts&) = delete;
  [[nodiscard]] std::vector<WantedPart>& all() noexcept { return parts_; }
  [[nodiscard]] bool has_thread() const noexcept { return waker_ == nullptr; }

  /// Requests are about to be made, by `ask()`. @param together they leave in one write
  void begin(bool together) noexcept;
  void ask(WantedPart& part, Queueing queueing);
  /// @return whether one of the requests has to sleep
  [[nodiscard]] bool advance();
  /// It may end early.
  void sleep();
  /// @return for how long at most.
  [[nodiscard]] core::Nanos sleeps_for() noexcept;
  /// Each request that is about to sleep reports to the observer.
  void report_wait() noexcept;
  /// No request has to sleep any more.
  void take_answers();
  /// @param from number of a part
  void give_back(std::size_t from);
  /// Gives back whatever there is, after one of those has thrown.
  void forsake() noexcept;
  /// @return what is held, in the order in which it can be unlocked.
  [[nodiscard]] std::vector<HeldSlot> take_slots() noexcept;

  // For a call without a thread.
  /// The caller wants it no longer.
  void give_up() noexcept { grace_.give_up(); }
  /// There is no time for further answers.
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
  Grace grace_;                  // of the requests that were made together
  bool gathers_ = false;         // the first requests have not left yet
  SleepTurns<AcquireCall> turns_;
};

}  // namespace mortise::runtime
