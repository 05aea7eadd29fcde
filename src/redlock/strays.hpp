// SPDX-License-Identifier: MIT
// Whose requests may still arrive at one server although their connection is gone: a server that
// was stopped, or far away, may read an old connection after a newer one.
#pragma once

#include <mortise/operation.hpp>

#include <atomic>
#include <map>
#include <mutex>

namespace mortise::redlock {

/// @thread_safety every member may be called concurrently.
class Strays {
 public:
  /// A connection broke while a request for the attempt was unanswered.
  void add(const AttemptId& attempt, bool release, Instant now) {
    const std::lock_guard lock(mutex_);
    std::erase_if(strays_, [&](const auto& stray) { return now - stray.second.since > life; });
    Stray& stray = strays_[attempt];
    stray.since = now;
    stray.release = stray.release || release;
    any_.store(true);
  }
  /// @return whether there are such requests of the attempt.
  [[nodiscard]] bool has(const AttemptId& attempt) const {
    if (!any_.load()) return false;
    const std::lock_guard lock(mutex_);
    return strays_.contains(attempt);
  }
  /// @return whether a release of its hold may have been executed without our knowing.
  [[nodiscard]] bool has_release(const AttemptId& attempt) const {
    if (!any_.load()) return false;
    const std::lock_guard lock(mutex_);
    const auto found = strays_.find(attempt);
    return found != strays_.end() && found->second.release;
  }

 private:
  // As long as the server refuses late copies (scripts/vote.lua, BURIED).
  static constexpr std::chrono::minutes life{2};
  struct Stray {
    Instant since{};
    bool release = false;
  };
  mutable std::mutex mutex_;
  std::map<AttemptId, Stray> strays_;
  std::atomic<bool> any_{false};
};

}  // namespace mortise::redlock
