// SPDX-License-Identifier: MIT
// The attempt that a caller answers for, from its first request until it is decided, given to the
// next caller, or taken back.
#pragma once

#include "core/acquire.hpp"
#include "runtime/client/closing.hpp"
#include "runtime/engine/attempt.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace mortise::runtime {

class Slot;

/// Part of a call.
/// @thread_safety other threads look at the attempt, and give one, under the slot's mutex; so what
/// changes which one it is, in `..._locked`, is called under that. All else is for the caller's own
/// thread, which needs no mutex to look.
class CallersAttempt {
 public:
  /// @param waker of a caller without a thread; null for a thread
  CallersAttempt(Slot& slot, Waker* waker) noexcept;
  CallersAttempt(const CallersAttempt&) = delete;
  CallersAttempt& operator=(const CallersAttempt&) = delete;
  ~CallersAttempt();
  explicit operator bool() const noexcept { return attempt_ != nullptr; }
  Attempt* operator->() const noexcept { return attempt_.get(); }
  Attempt& operator*() const noexcept { return *attempt_; }
  [[nodiscard]] const std::shared_ptr<Attempt>& get() const noexcept { return attempt_; }
  /// @return whether the backend was asked for it.
  [[nodiscard]] bool asked() const noexcept { return asked_; }

  /// @param memory of a key; null for a lock
  /// @param beside of a reader whose owner holds the name exclusively
  void begin_locked(const core::Terms& terms, bool wait,
                    const std::shared_ptr<const Memory>& memory,
                    const std::optional<AttemptId>& beside);
  /// One that was sent already. From now on `close()` waits for this caller, although it sleeps.
  void inherit_locked(std::shared_ptr<Attempt> attempt);
  [[nodiscard]] std::shared_ptr<Attempt> give_locked() noexcept {
    return std::exchange(attempt_, nullptr);
  }
  void forget_locked() noexcept { attempt_.reset(); }
  void poke_locked() noexcept {
    if (attempt_) attempt_->poke();
  }
  /// @return null for a thread.
  [[nodiscard]] Waker* waker() const noexcept { return waker_; }

  /// From now on `close()` waits for this caller.
  void count();
  /// From now on it does not. The caller has nothing at the server that is not decided.
  void uncount() noexcept;
  core::Acquire::Asked ask(Instant now);
  void ask_again(Instant now);
  [[nodiscard]] core::Acquire::Decided decided() const noexcept;
  /// Has it taken back: soon it is done.
  void cancel();
  /// Leaves what is not done to the client.
  /// @return what of the event is seen on the way: the progress before, and a grant that came.
  core::Acquire::TakenBack taken_back();

 private:
  Slot& slot_;
  Waker* const waker_;
  std::optional<Closing::Inside> asking_;
  bool successor_ = false;  // was given an attempt
  bool asked_ = false;
  Acquisition::Progress progress_ = Acquisition::Progress::unsent;  // as it was to be taken back
  std::shared_ptr<Attempt> attempt_;
};

}  // namespace mortise::runtime
