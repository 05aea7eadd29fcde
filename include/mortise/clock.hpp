// SPDX-License-Identifier: MIT
// Time as the library sees it: a clock that counts through suspend and never steps, handed in so
// that tests can own it. No wall clock appears anywhere in a lease's arithmetic.
#pragma once

#include <mortise/export.hpp>

#include <chrono>
#include <functional>
#include <memory>

namespace mortise {

/// The time line of every deadline in this library: Linux `CLOCK_BOOTTIME`.
///
/// Unlike `std::chrono::steady_clock` it goes on while the machine is suspended, because the
/// server's lease goes on as well.
struct BootClock {
  using rep = std::chrono::nanoseconds::rep;
  using period = std::chrono::nanoseconds::period;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<BootClock, duration>;
  static constexpr bool is_steady = true;
  /// @return the time since boot. Thread-safe; one vDSO call.
  MORTISE_API static time_point now() noexcept;
};

/// A moment on the boot-time line.
using Instant = BootClock::time_point;

/// The moment that never comes: the deadline of whatever has none.
inline constexpr Instant never = Instant::max();

/// A clock that can be handed in (`ClientOptions::clock`), so that a test decides what time it is.
///
/// @thread_safety every member may be called from any thread at any time.
class MORTISE_API Clock {
 public:
  virtual ~Clock();

  /// @return the present moment; never smaller than an earlier answer.
  [[nodiscard]] virtual Instant now() const noexcept = 0;

  /// Asks to be told when the time has moved by hand, since a sleeper can not know it otherwise.
  ///
  /// @param wake called after each step, from the stepping thread; must not block.
  /// @return keeps the subscription alive; empty for a clock that moves by itself, as real ones do.
  [[nodiscard]] virtual std::shared_ptr<void> on_step(std::function<void()> wake);

  /// @return the process-wide real clock (`BootClock`).
  static std::shared_ptr<Clock> real();
};

/// A clock that stands still until it is told to move: for unit tests of code that uses locks.
///
/// Hand it to the `Client` and, for a `memory:` server, to the server too; `advance()` then runs
/// whatever falls due (renewals, losses, time-outs) on the client's own threads.
class MORTISE_API ManualClock final : public Clock {
 public:
  ManualClock();
  ~ManualClock() override;
  [[nodiscard]] Instant now() const noexcept override;
  [[nodiscard]] std::shared_ptr<void> on_step(std::function<void()> wake) override;

  /// Moves the time forward and wakes every sleeper that follows this clock.
  ///
  /// @param step how far, >= 0 ns; a negative step is ignored, time never goes back.
  void advance(std::chrono::nanoseconds step);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace mortise
