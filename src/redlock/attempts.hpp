// SPDX-License-Identifier: MIT
// The attempts and holds of a client, by their ids, and when attempts that wait have their next
// round. It sends nothing and decides nothing.
#pragma once

#include "redlock/quorum_request.hpp"
#include "remote/timer.hpp"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace mortise::redlock {

/// @thread_safety every member may be called concurrently
class Attempts {
 public:
  using Attempt = std::shared_ptr<QuorumAttempt>;

  explicit Attempts(Quorum quorum) : quorum_(quorum) {}

  /// @return null = it is not known
  [[nodiscard]] Attempt find(const AttemptId& id) const;
  /// @return the attempt, which has begun by now; null = it is over
  [[nodiscard]] Attempt find_or_make(const std::shared_ptr<Acquisition>& operation);
  /// @return the attempts that are not holds
  [[nodiscard]] std::vector<Attempt> undecided() const;
  /// It is a hold from now on.
  void won(const QuorumAttempt& attempt, Instant now);
  void forget(const QuorumAttempt& attempt) noexcept;
  /// @return all of them; none begins any more
  [[nodiscard]] std::vector<Attempt> close();

  /// Its next round begins at that moment. @return true if no other attempt has an earlier one
  [[nodiscard]] bool wake(const Attempt& attempt, Instant when);
  [[nodiscard]] Instant due() const noexcept { return alarms_.next(); }
  [[nodiscard]] std::vector<Attempt> take_due(Instant now);

 private:
  struct Hash {
    std::size_t operator()(const AttemptId& id) const noexcept { return id.sequence; }
  };
  using Table = std::unordered_map<AttemptId, Attempt, Hash>;
  static constexpr std::size_t fewest_to_sweep = 256;

  [[nodiscard]] Attempt find_locked(const AttemptId& id) const;
  void sweep() noexcept;

  const Quorum quorum_;
  mutable std::mutex mutex_;
  Table undecided_;
  Table holds_;
  remote::Timer<std::weak_ptr<QuorumAttempt>> alarms_;
  std::size_t sweep_at_ = fewest_to_sweep;
  std::size_t sweep_holds_at_ = fewest_to_sweep;
  bool is_closed_ = false;
};

}  // namespace mortise::redlock
