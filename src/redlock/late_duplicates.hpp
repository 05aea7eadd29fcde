// SPDX-License-Identifier: MIT
// Requests that may still arrive at a server although their connection is gone: after those of a
// newer connection, and of another address that leads there, too. See remote/late_copies.hpp.
#pragma once

#include "remote/late_copies.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace mortise::redlock {

/// What is told apart is the steps of the attempt (see `QuorumAttempt::step`), which are the same
/// wherever it is asked for, and not connections, which each address counts by itself.
/// @thread_safety every member may be called concurrently.
class LateDuplicates {
 public:
  /// A connection to that server broke while a request of this step was unanswered.
  /// @param lease of the vote that it may bring
  void add(std::uint64_t server, const AttemptId& attempt, bool release, std::uint32_t step,
           Instant now, std::chrono::nanoseconds lease = {}) {
    const std::lock_guard lock(mutex_);
    any_.store(true);
    auto* const late = late_.unanswered({server, attempt}, step, now, lease);
    if (late != nullptr) late->release = late->release || release;
  }
  /// The server has executed a request of this step that told it to refuse older ones.
  /// @param last nothing newer comes, so that its own copies do no harm
  void answered(std::uint64_t server, const AttemptId& attempt, std::uint32_t step, bool last,
                Instant now) {
    if (!any_.load()) return;
    const std::lock_guard lock(mutex_);
    late_.sweep(now);
    static_cast<void>(late_.refuses_below({server, attempt}, std::uint64_t{step} + (last ? 1 : 0)));
    late_.settle({server, attempt});
    any_.store(!late_.empty());
  }
  /// The server has answered the release of its hold.
  void released(std::uint64_t server, const AttemptId& attempt) {
    if (!any_.load()) return;
    const std::lock_guard lock(mutex_);
    late_.released({server, attempt});
    any_.store(!late_.empty());
  }
  /// @return whether there are such requests of the attempt.
  [[nodiscard]] bool has(std::uint64_t server, const AttemptId& attempt) const {
    if (!any_.load()) return false;
    const std::lock_guard lock(mutex_);
    return late_.any_copies({server, attempt});
  }
  /// @return whether a release of its hold may have been executed without our knowing.
  [[nodiscard]] bool has_release(std::uint64_t server, const AttemptId& attempt) const {
    if (!any_.load()) return false;
    const std::lock_guard lock(mutex_);
    return late_.release_in_doubt({server, attempt});
  }

 private:
  // After a vote that it was asked for would have ended: a server that stood still all the while
  // gives it when it goes on.
  static constexpr std::chrono::minutes life{2};

  mutable std::mutex mutex_;
  remote::LateCopies<> late_{life};
  std::atomic<bool> any_{false};
};

}  // namespace mortise::redlock
