// SPDX-License-Identifier: MIT
// Requests for votes that a server may still execute although their connection is gone: one moment
// per attempt and server, after which the server ignores them.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/operation.hpp>

#include "base/mutant.hpp"
#include "remote/void_moment.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace mortise::redlock {

/// A request for a vote whose connection broke may arrive behind the release or the undo that
/// follows it on the next connection. The server ignores it after its `void_after` moment. So a
/// release or an undo that the server executed before that moment is repeated once after it.
/// @thread_safety every member may be called concurrently.
class Copies {
 public:
  /// A connection to that server broke while a request was unanswered.
  /// @param void_after of the request, by the server's clock
  void add(std::uint64_t server, const AttemptId& attempt, remote::ServerTime void_after,
           Instant now) {
    const std::lock_guard lock(mutex_);
    std::erase_if(moments_, [&](const auto& each) { return each.second.is_forgotten(now); });
    moments_[key_of(server, attempt)].extend({.after = void_after, .clock = server, .noted = now});
    any_.store(true);
  }
  /// @return whether there may be such requests of the attempt.
  [[nodiscard]] bool has(std::uint64_t server, const AttemptId& attempt) const {
    if (!any_.load()) return false;
    const std::lock_guard lock(mutex_);
    return moments_.contains(key_of(server, attempt));
  }
  /// The server has executed a release or an undo. @param at by its clock
  /// @return the moment of ours at which it is to be repeated; `never` = nothing can arrive any
  /// more
  Instant taken_back(std::uint64_t server, const AttemptId& attempt, remote::ServerTime at,
                     Instant now) {
    if (!any_.load()) return never;
    const std::lock_guard lock(mutex_);
    const auto found = moments_.find(key_of(server, attempt));
    if (found == moments_.end()) return never;
    const Instant next = found->second.next_try(at, server, now);
    if (next != never && !base::mutant("redlock.taken_back_only_once")) return next;
    moments_.erase(found);
    any_.store(!moments_.empty());
    return never;
  }

 private:
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;
  static Key key_of(std::uint64_t server, const AttemptId& attempt) noexcept {
    return {server, attempt.client_high, attempt.client_low, attempt.sequence};
  }

  mutable std::mutex mutex_;
  std::map<Key, remote::VoidMoment> moments_;
  std::atomic<bool> any_{false};
};

}  // namespace mortise::redlock
