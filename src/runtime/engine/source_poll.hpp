// SPDX-License-Identifier: MIT
// One look at sources: sleeps until one of them has something, and has it handled.
#pragma once

#include <mortise/backend.hpp>

#include "base/tuned_source.hpp"
#include "base/unique_fd.hpp"

#include <poll.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>

namespace mortise::runtime {

/// @return an eventfd. Throws `std::system_error`.
[[nodiscard]] base::UniqueFd make_eventfd();
/// @return a timerfd on CLOCK_BOOTTIME. Throws `std::system_error`.
[[nodiscard]] base::UniqueFd make_timer();
/// @return a timerfd that becomes readable when the wall clock was set, or the machine has come
/// back from a suspend, which sets it; none where the kernel has no such timer.
[[nodiscard]] base::UniqueFd make_clock_watch() noexcept;
/// Has whoever polls the eventfd wake up, now or when it polls next.
void signal(int eventfd) noexcept;
/// Has the timer fire so late, once.
void arm(int timer, std::chrono::nanoseconds in) noexcept;

/// Has an operation's completion, and each poke, end a poll.
class NudgedThrough {
 public:
  NudgedThrough(Operation& operation, int eventfd) noexcept : operation_(operation) {
    operation_.nudge_through(eventfd);
  }
  NudgedThrough(const NudgedThrough&) = delete;
  NudgedThrough& operator=(const NudgedThrough&) = delete;
  ~NudgedThrough() { operation_.nudge_through(-1); }

 private:
  Operation& operation_;
};

/// @thread_safety every member may be called concurrently; a source is called by one thread at a
/// time, but for `linger()`.
class SourcePoll {
 public:
  explicit SourcePoll(std::shared_ptr<Clock> clock) : clock_(std::move(clock)) {}

  /// One look.
  struct Look {
    int wake = -1;                      ///< an eventfd that ends it
    std::array<int, 2> timers{-1, -1};  ///< timerfds that end it; the first is set to `until`
    int clock_watch = -1;               ///< ends it as well
    Instant until = never;
    Operation* own = nullptr;  ///< the operation that is nudged through `wake`; may be null
    /// Told until when it sleeps: whoever changes a moment afterwards, and finds it sooner, has to
    /// signal `wake`. May be null.
    std::atomic<Instant>* asleep_until = nullptr;
  };
  /// The first half of a look, before it sleeps.
  /// @param fds receives what to poll for, one for each source
  /// @return for how long to sleep at most; the first timer was set to that
  std::chrono::nanoseconds ask(std::span<Source* const> sources, std::span<pollfd> fds,
                               const Look& look);
  /// @return whether the clock was set
  bool once(std::span<Source* const> sources, const Look& look);
  /// `TunedSource::linger()`, from where a source may be detached.
  static bool linger(base::TunedSource& source);

 private:
  [[nodiscard]] std::chrono::nanoseconds left_until(Instant until, int timer) const;
  std::shared_ptr<Clock> clock_;
  // Never held while polling: a source is called by one thread at a time even while roles change.
  std::mutex calling_;
};

}  // namespace mortise::runtime
