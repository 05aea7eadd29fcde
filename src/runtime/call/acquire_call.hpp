// SPDX-License-Identifier: MIT
// One call of lock(): carries out what core/acquire decides. Several can be carried out in turns by
// one thread, each as far as it would sleep.
#pragma once

#include <mortise/error.hpp>
#include <mortise/options.hpp>

#include "base/futex.hpp"
#include "core/acquire.hpp"
#include "core/figures.hpp"
#include "runtime/call/acquire_report.hpp"
#include "runtime/call/callers_attempt.hpp"
#include "runtime/call/key_talk.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

namespace mortise::runtime {

class Slot;

/// Whether a call may wait for whoever holds the name.
enum class Queueing : std::uint8_t {
  joins,
  tries,  ///< it waits for an answer only, also where it has more time than one request has
};

/// The moment at which a call that is over, by its time or its stop, returns without further
/// answers. One for all the parts of a call.
class Grace {
 public:
  /// The call is over. @return the moment, in real time: counted from when this was asked first.
  Instant end() noexcept {
    if (end_ == never) end_ = BootClock::now() + core::grace;
    return end_;
  }
  /// The caller wants it no longer. The call ends at its next step, as after a stop request.
  void give_up() noexcept { given_up_ = true; }
  [[nodiscard]] bool is_given_up() const noexcept { return given_up_; }
  /// There is no time for further answers.
  void end_now() noexcept { end_ = Instant{}; }

 private:
  Instant end_ = never;
  bool given_up_ = false;
};

/// Lives in the frame of the calling thread, or in a `PendingCall`.
class AcquireCall final : public core::Waiter {
  using Machine = core::Acquire;
  using Action = Machine::Action;

 public:
  /// @param key what is asked of a key, and where its answer goes; null for a lock
  /// @param grace one for all parts of a call
  /// @param waker of a call without a thread, which is stepped by `advance()` alone; null for a
  /// thread
  AcquireCall(Slot& slot, const std::shared_ptr<const core::Terms>& asked,
              const AcquireOptions& options, KeyCall* key, Queueing queueing, Grace& grace,
              Waker* waker = nullptr);
  /// The whole call. @return as `end()`
  Failure run(std::optional<Holder>* holder);

  // The same in parts: `sleep()` as long as `advance()` says so, then `end()`.

  /// Does what can be done now. @return whether it has to sleep before it goes on; false = it is
  /// over
  [[nodiscard]] bool advance();
  /// Not longer than it is good for, nor than that. It may end early.
  void sleep(core::Nanos at_most);
  /// @return for how long at most.
  [[nodiscard]] core::Nanos sleeps_for() noexcept;
  [[nodiscard]] bool is_over() const noexcept { return action_.what == Machine::Do::end; }
  /// @return whether it is over, and the owner holds the name.
  [[nodiscard]] bool holds() const noexcept;
  /// Reports to the observer, once, that the call waits. To be called before it sleeps.
  void report_wait() noexcept;
  /// Reports the end to the observer.
  /// @param holder receives who held the name when the call failed by contention; may be null
  /// @param is_reported false: the call is a part of another call, which reports the end
  /// @return why the call failed; no failure = the owner holds the name, or has a key's record.
  Failure end(std::optional<Holder>* holder, bool is_reported = true);

  [[nodiscard]] KeyCall* key() const noexcept { return key_; }
  [[nodiscard]] Instant began() const noexcept { return machine_.began(); }
  /// @return what it has at the server; null = nothing. Under the slot's mutex.
  [[nodiscard]] const Attempt* attempt_locked() const noexcept { return own_.get().get(); }
  /// Leaves whatever it takes part in, after one of those has thrown.
  void forsake();

  /// Has the caller woken wherever it sleeps. Under the slot's mutex.
  /// @return what to hand to `futex_wake()`, best when the mutex is free: a thread that is woken
  /// before that only goes to sleep again, on the mutex. Null: the call has no thread
  [[nodiscard]] const std::atomic<std::uint32_t>* mark_locked() noexcept;
  /// Gives it an attempt that was sent already. Under the slot's mutex.
  void inherit_locked(std::shared_ptr<Attempt> attempt, std::optional<Instant> trouble_since);

 private:
  // Each carries an action out. @return the next one
  Action carry_out(const Action& action);
  Action enter();
  Action look();
  Action take_over();
  Action begin();
  Action ask();
  /// @param woken it has slept since its last look at the clock
  Action check(bool woken);
  Action settle();
  Action accept();
  Action pass_on(Machine::Why why);
  Action take_back();
  void leave();

  void begin_attempt_locked();
  /// @return what can be seen, by its last look at the clock.
  [[nodiscard]] Machine::View view() const noexcept;

  /// The state of a caller that sleeps.
  struct Rest {
    base::Parker parker;
    std::uint32_t seen = 0;  // of what it sleeps on: read before the conditions
    bool begun = false;      // the action that it sleeps for
  };
  /// The request to end the wait.
  struct Stop {
    std::atomic<bool> requested{false};
    std::optional<std::stop_callback<std::function<void()>>> callback;
  };

  Slot& slot_;
  const AcquireOptions& options_;
  KeyCall* const key_;
  Machine machine_;
  Instant now_;  // when it looked last
  Rest rest_;
  Action action_ = Machine::start();
  Grace& grace_;
  CallersAttempt own_;
  AcquireReport report_;
  Stop stop_;
};

/// One call of `lock()`, from its arrival to its end.
/// @param holder receives who held the name when the call failed by contention; may be null
/// @param key what is asked of a key, and where its answer goes; null for a lock
/// @param grace of the call that this one is a part of; null = it is a call by itself
/// @return the failure, `timeout` and `cancelled` included; none = `options.owner` holds the name,
/// or there is a record of the key
Failure acquire(Slot& slot, const std::shared_ptr<const core::Terms>& terms,
                const AcquireOptions& options, std::optional<Holder>* holder,
                KeyCall* key = nullptr, Grace* grace = nullptr);

}  // namespace mortise::runtime
