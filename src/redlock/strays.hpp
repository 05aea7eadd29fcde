// SPDX-License-Identifier: MIT
// Whose requests may still arrive at a server although their connection is gone: a server that was
// stopped, or far away, may read an old connection after a newer one, and after that of another
// address that leads there, too.
#pragma once

#include <mortise/operation.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace mortise::redlock {

/// What is told apart is the steps of the attempt (see `Bid::step`), which are the same wherever
/// it is asked for, and not connections, which each address counts by itself.
/// @thread_safety every member may be called concurrently.
class Strays {
 public:
  /// A connection to that server broke while a request of this step was unanswered.
  /// @param lease of the vote that it may bring
  void add(std::uint64_t server, const AttemptId& attempt, bool release, std::uint32_t step,
           Instant now, std::chrono::nanoseconds lease = {}) {
    const std::lock_guard lock(mutex_);
    sweep(now);  // not for each of thousands
    Stray& stray = strays_[{server, attempt}];
    stray.until = std::max(stray.until, now + lease + life);
    stray.step = std::max(stray.step, step);
    stray.copies = true;
    stray.release = stray.release || release;
    any_.store(true);
  }
  /// The server has executed a request of this step that told it to refuse older ones.
  /// @param last nothing newer comes, so that its own copies do no harm
  void answered(std::uint64_t server, const AttemptId& attempt, std::uint32_t step, bool last,
                Instant now) {
    if (!any_.load()) return;
    const std::lock_guard lock(mutex_);
    sweep(now);
    const auto found = strays_.find({server, attempt});
    if (found == strays_.end() || step < found->second.step) return;
    if (step == found->second.step && !last) return;
    found->second.copies = false;
    if (!found->second.release) erase(found);
  }
  /// The server has answered the release of its hold.
  void released(std::uint64_t server, const AttemptId& attempt) {
    if (!any_.load()) return;
    const std::lock_guard lock(mutex_);
    const auto found = strays_.find({server, attempt});
    if (found == strays_.end()) return;
    found->second.release = false;
    if (!found->second.copies) erase(found);
  }
  /// @return whether there are such requests of the attempt.
  [[nodiscard]] bool has(std::uint64_t server, const AttemptId& attempt) const {
    if (!any_.load()) return false;
    const std::lock_guard lock(mutex_);
    const auto found = strays_.find({server, attempt});
    return found != strays_.end() && found->second.copies;
  }
  /// @return whether a release of its hold may have been executed without our knowing.
  [[nodiscard]] bool has_release(std::uint64_t server, const AttemptId& attempt) const {
    if (!any_.load()) return false;
    const std::lock_guard lock(mutex_);
    const auto found = strays_.find({server, attempt});
    return found != strays_.end() && found->second.release;
  }

 private:
  // After a vote that it was asked for would have ended: a server that stood still all the while
  // gives it when it goes on.
  static constexpr std::chrono::minutes life{2};
  struct Stray {
    Instant until{};
    std::uint32_t step = 0;
    bool copies = true;
    bool release = false;
  };
  using Table = std::map<std::pair<std::uint64_t, AttemptId>, Stray>;

  void sweep(Instant now) {
    if (now - swept_ < std::chrono::seconds(1)) return;
    swept_ = now;
    std::erase_if(strays_, [&](const auto& stray) { return now > stray.second.until; });
    any_.store(!strays_.empty());
  }
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
