// SPDX-License-Identifier: MIT
// How long a connection may leave a request unanswered. It reads no clock.
#pragma once

#include <mortise/clock.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>

namespace mortise::remote {

/// Estimates the round trip of one connection, as TCP does (RFC 6298). A fixed time would break
/// each connection whose round trip is longer, and no request on it would ever be answered.
/// @thread_safety one thread at a time, except for `time()`
class RoundTrip {
 public:
  /// The first request of a connection is about to leave.
  void begin(Instant now) noexcept { heard_at_ = now; }
  /// It was answered.
  void begun(Instant now) noexcept {
    mean_ = now - heard_at_;
    deviation_ = mean_ / 2;
    heard_at_ = now;
    note();
  }
  /// A request was answered that left at that moment.
  void answered(Instant left, Instant now) noexcept {
    const std::chrono::nanoseconds took = now - left;
    heard_at_ = now;
    deviation_ += (std::chrono::abs(took - mean_) - deviation_) / 4;
    mean_ += (took - mean_) / 8;
    note();
  }
  /// A connection that delivers is alive, even if a request is late.
  /// @param deadline of that request, which left at that moment
  /// @return the moment at which the connection counts as dead because of that request.
  [[nodiscard]] Instant dead_at(Instant deadline, Instant left) const noexcept {
    return std::max(deadline, heard_at_ + (deadline - left));
  }
  /// @param shortest the time of a request if answers come quickly
  /// @param longest the time that it may have at most
  /// @return the time after which a request that leaves now counts as lost without an answer.
  /// @thread_safety any thread
  [[nodiscard]] std::chrono::nanoseconds time(std::chrono::nanoseconds shortest,
                                              std::chrono::nanoseconds longest) const noexcept {
    const std::chrono::nanoseconds usual(usual_.load(std::memory_order_relaxed));
    return std::clamp(usual, shortest, std::max(shortest, longest));
  }

 private:
  void note() noexcept {
    // A link with even round trips is not to be dropped for the first one that is a little longer.
    usual_.store((mean_ + std::max(4 * deviation_, mean_ / 2)).count(), std::memory_order_relaxed);
  }

  Instant heard_at_{};  // the last answer was read then
  std::chrono::nanoseconds mean_{};
  std::chrono::nanoseconds deviation_{};
  std::atomic<std::chrono::nanoseconds::rep> usual_{0};
};

}  // namespace mortise::remote
