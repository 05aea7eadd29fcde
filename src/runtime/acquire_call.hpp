// SPDX-License-Identifier: MIT
// One call of lock(): waits for its turn inside the process, asks the server when it is called to,
// and leaves cleanly whichever way it ends.
#pragma once

#include <mortise/error.hpp>
#include <mortise/options.hpp>

#include "base/futex.hpp"
#include "core/name_state.hpp"
#include "runtime/attempt.hpp"

#include <atomic>
#include <memory>
#include <optional>

namespace mortise::runtime {

class Slot;
class ClientState;

/// Lives in the frame of the calling thread.
class AcquireCall final : public core::Waiter {
 public:
  AcquireCall(Slot& slot, const std::shared_ptr<const core::Terms>& asked,
              const AcquireOptions& options);
  AcquireCall(const AcquireCall&) = delete;
  AcquireCall& operator=(const AcquireCall&) = delete;
  ~AcquireCall();
  /// @return why the call failed; no failure = the owner holds the name.
  Failure run();
  /// Leaves whatever it takes part in, after `run()` has thrown.
  void forsake();
  /// @return who was seen to hold the name, after contention.
  [[nodiscard]] std::optional<Holder> take_holder() { return std::move(holder_); }

  /// Wakes the thread wherever it sleeps. Under the slot's mutex.
  void wake_locked() noexcept {
    parker_.unpark();
    if (attempt_) attempt_->poke();
  }
  /// The same in two halves. @return what to hand to `futex_wake()` when the mutex is free: a
  /// thread that is woken before that only goes to sleep again, on the mutex.
  [[nodiscard]] const std::atomic<std::uint32_t>* mark_locked() noexcept;
  /// Gives it an attempt that was sent already. Under the slot's mutex.
  void inherit_locked(std::shared_ptr<Attempt> attempt, std::optional<Instant> trouble_since);
  /// @return whether it is this attempt's answer that it waits for. Under the slot's mutex.
  [[nodiscard]] bool asks_by_locked(const AttemptId& attempt) const noexcept {
    return attempt_ && attempt_->request().attempt == attempt;
  }

 private:
  // Each returns what the call ends with (an empty failure is success), or nothing: ask on.
  using Outcome = std::optional<Failure>;

  Failure arrive(Instant now);
  Failure wait_for_turn();
  Failure take_over();
  Failure ask();
  void begin_attempt_locked();
  [[nodiscard]] bool wait_for_answer();
  Outcome settle();
  Outcome accept();
  Outcome give_up();
  Outcome take_back(const std::optional<Failure>& trouble);
  Failure contended(Failure why);
  /// The time is up, and the server has said nothing.
  [[nodiscard]] Failure unanswered();
  Failure no_answer(Errc code);
  void leave();
  std::optional<Failure> learn_from_requester_locked();
  [[nodiscard]] std::optional<Failure> reason_to_leave(Instant now);
  [[nodiscard]] std::optional<Failure> reason_to_give_up(Instant now);
  void note_trouble(Instant now, bool in_trouble) noexcept;
  void tell_granted(Instant now);

  Slot& slot_;
  ClientState& client_;
  const AcquireOptions& options_;
  const Instant began_;
  const bool may_wait_;
  const Instant until_;
  Instant asks_since_{};  // the server; before that it waited for others of this process
  base::Parker parker_;
  std::atomic<bool> stopped_{false};
  bool successor_ = false;            // was given an attempt
  std::shared_ptr<Attempt> attempt_;  // written under the slot's mutex
  bool asked_ = false;                // the backend for it
  std::optional<Instant> trouble_since_;
  std::optional<Failure> why_;  // the reason to give up
  std::optional<Holder> holder_;
};

}  // namespace mortise::runtime
