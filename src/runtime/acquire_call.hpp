// SPDX-License-Identifier: MIT
// One call of lock() in its own thread: carries out what core/acquire decides.
#pragma once

#include <mortise/error.hpp>
#include <mortise/options.hpp>

#include "base/futex.hpp"
#include "core/acquire.hpp"
#include "runtime/acquire_report.hpp"
#include "runtime/callers_attempt.hpp"
#include "runtime/key_talk.hpp"

#include <atomic>
#include <memory>
#include <optional>

namespace mortise::runtime {

class RenewalBatch;
class Slot;
struct SharedName;

/// Lives in the frame of the calling thread.
class AcquireCall final : public core::Waiter {
 public:
  /// @param key what is asked of a key, and where its answer goes; null for a lock
  AcquireCall(Slot& slot, const std::shared_ptr<const core::Terms>& asked,
              const AcquireOptions& options, KeyCall* key);
  AcquireCall(const AcquireCall&) = delete;
  AcquireCall& operator=(const AcquireCall&) = delete;
  /// @return why the call failed; no failure = the owner holds the name, or has a key's record.
  Failure run();
  [[nodiscard]] KeyCall* key() const noexcept { return key_; }
  /// Leaves whatever it takes part in, after `run()` has thrown.
  void forsake();
  /// @return who was seen to hold the name, after contention.
  [[nodiscard]] std::optional<Holder> take_holder() { return std::move(report_.holder); }

  /// Wakes the thread wherever it sleeps. Under the slot's mutex.
  void wake_locked() noexcept {
    parker_.unpark();
    own_.poke_locked();
  }
  /// The same in two halves. @return what to hand to `futex_wake()` when the mutex is free: a
  /// thread that is woken before that only goes to sleep again, on the mutex.
  [[nodiscard]] const std::atomic<std::uint32_t>* mark_locked() noexcept;
  /// Gives it an attempt that was sent already. Under the slot's mutex.
  void inherit_locked(std::shared_ptr<Attempt> attempt, std::optional<Instant> trouble_since);
  /// The server took a hold away, perhaps one of whose grant it has yet to hear. Under the slot's
  /// mutex.
  void taken_away_locked(const HoldId& hold) noexcept {
    if (own_ && own_->request().attempt == hold.attempt) own_->taken_away_locked(hold.number);
  }

 private:
  using Machine = core::Acquire;
  using Action = Machine::Action;

  // Each carries an action out. @return the next one
  Action carry_out(const Action& action);
  Action enter();
  Action look();
  Action take_over();
  Action begin();
  Action ask();
  Action check();
  Action settle();
  Action accept();
  Action pass_on(Machine::Why why);
  Action take_back();
  void leave();

  Failure ends(const Action& action);

  void begin_attempt_locked();
  void run_begins_locked(core::Hold&& hold, std::uint64_t run);
  /// @return whether that caller may go on with the attempt of this one.
  [[nodiscard]] bool may_hand_to(const AcquireCall& successor) const noexcept;

  /// Where it finds a shared hold: @return a renewal that asks whether others wait, if it is time.
  std::shared_ptr<RenewalBatch> news_locked(core::NameState::Entry entry) noexcept;
  void look_for_others(const std::shared_ptr<RenewalBatch>& news) noexcept;

  Machine::View view() noexcept;
  [[nodiscard]] Machine::View view_of_then() const noexcept;  // by its last look at the clock
  void learn_from_requester_locked();

  Slot& slot_;
  SharedName& name_;
  ClientState& client_;
  const AcquireOptions& options_;
  KeyCall* const key_;
  Machine machine_;
  Instant now_;  // when it looked last
  base::Parker parker_;
  std::uint32_t seen_ = 0;  // of what it sleeps on: read before the conditions
  std::atomic<bool> stopped_{false};
  CallersAttempt own_;
  AcquireReport report_;
};

}  // namespace mortise::runtime
