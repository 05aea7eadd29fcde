// SPDX-License-Identifier: MIT
// Whose requests may still arrive at one server although their connection is gone: a server that
// was stopped, or far away, may read an old connection after a newer one.
#pragma once

#include <mortise/operation.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>

namespace mortise::redlock {

/// @thread_safety every member may be called concurrently.
class Strays {
 public:
  /// A connection broke while a request for the attempt was unanswered.
  /// @param epoch of that connection
  void add(const AttemptId& attempt, bool release, std::uint64_t epoch, Instant now) {
    const std::lock_guard lock(mutex_);
    if (now - swept_ >= std::chrono::seconds(1)) {  // not for each of thousands
      swept_ = now;
      std::erase_if(strays_, [&](const auto& stray) { return now - stray.second.since > life; });
    }
    Stray& stray = strays_[attempt];
    stray.since = now;
    stray.epoch = std::max(stray.epoch, epoch);
    stray.copies = true;
    stray.release = stray.release || release;
    any_.store(true);
  }
  /// The server has executed a request for it: it refuses older copies from now on.
  void answered(const AttemptId& attempt, std::uint64_t epoch) {
    if (!any_.load()) return;
    const std::lock_guard lock(mutex_);
    const auto found = strays_.find(attempt);
    if (found == strays_.end() || epoch <= found->second.epoch) return;
    found->second.copies = false;
    if (!found->second.release) erase(found);
  }
  /// The server has answered the release of its hold.
  void released(const AttemptId& attempt) {
    if (!any_.load()) return;
    const std::lock_guard lock(mutex_);
    const auto found = strays_.find(attempt);
    if (found == strays_.end()) return;
    found->second.release = false;
    if (!found->second.copies) erase(found);
  }
  /// @return whether there are such requests of the attempt.
  [[nodiscard]] bool has(const AttemptId& attempt) const {
    if (!any_.load()) return false;
    const std::lock_guard lock(mutex_);
    const auto found = strays_.find(attempt);
    return found != strays_.end() && found->second.copies;
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
    std::uint64_t epoch = 0;
    bool copies = true;
    bool release = false;
  };
  using Table = std::map<AttemptId, Stray>;

  void erase(Table::iterator found) {
    strays_.erase(found);
    any_.store(!strays_.empty());
  }

  mutable std::mutex mutex_;
  Table strays_;
  Instant swept_{};
  std::atomic<bool> any_{false};
};

}  // namespace mortise::redlock
