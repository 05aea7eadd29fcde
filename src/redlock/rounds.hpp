// SPDX-License-Identifier: MIT
// The rounds of an attempt: how a round begins, what its answers decide, and how the attempt ends.
#pragma once

#include "base/random_id.hpp"
#include "redlock/parts.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace mortise::redlock {

/// A round asks all servers that can be asked. A round that is lost is undone at once, behind its
/// own requests on the same connections.
/// @thread_safety every member may be called concurrently
class Rounds {
 public:
  using Attempt = Attempts::Attempt;

  /// @param parts outlive it
  explicit Rounds(const Parts& parts) : parts_(parts) {}

  /// The library asks for the attempt, perhaps once more; or its next round is due.
  void ask(const Attempt& attempt);
  /// The caller takes it back.
  void cancel(const std::shared_ptr<Acquisition>& operation);
  /// An address can be asked.
  void up(Node& node);
  /// An address cannot be asked any more. @param clear_now attempts may begin by that
  /// @return true if an attempt waits
  bool down(const Node& node, bool clear_now);

  /// A request for a vote, or for its number, has no answer.
  void no_vote(const Node& node, const redis::Call& call, const Failure& why);
  void on_take(Node& node, const redis::Call& call, VoteReply reply);
  void on_settle(Node& node, const redis::Call& call, const VoteReply& reply);
  void on_undo(Node& node, const redis::Call& call, const VoteReply& reply);

 private:
  void ask_nodes(const Attempt& attempt, const std::shared_ptr<Ballot>& ballot, NodeSet nodes);
  void join(const Attempt& attempt, const Node& node);
  void judge(const Attempt& attempt, Lock lock);
  void settle(const Attempt& attempt, Lock lock);
  void settle_late(Node& node, const std::shared_ptr<Ballot>& ballot);
  void win(const Attempt& attempt, Lock lock);
  void lose(const Attempt& attempt, Lock lock);
  void finish_cancel(const Attempt& attempt, Lock lock);
  void tell_unreachable(const Attempt& attempt);
  void on_late_take(Node& node, const Attempt& attempt, const std::shared_ptr<Ballot>& ballot,
                    Lock lock);
  void on_refusal(Node& node, QuorumAttempt& attempt, VoteReply reply);
  void note_late(QuorumAttempt& attempt, const Node& node, const redis::Call& call,
                 VoteReply& reply) const;
  void silence(const Attempt& attempt, const Node& node);
  [[nodiscard]] std::uint64_t propose() const noexcept;

  const Parts& parts_;
  std::atomic<std::uint64_t> last_number_{0};
};

/// When an attempt that waits has its next round: at a hint, when leases end, or after a random
/// time.
/// @thread_safety every member may be called concurrently
class Waits {
 public:
  using Attempt = Attempts::Attempt;

  /// @param parts outlive it
  explicit Waits(const Parts& parts);

  /// Hints can come from that address.
  void listens(const Node& node);
  void hinted(const Node& node, const AttemptId& id);
  /// Under the attempt's mutex. @return when it tries again
  [[nodiscard]] Instant next_try(const QuorumAttempt& attempt, Instant now);
  void begin(const Attempt& attempt, Instant when);
  /// Begins the rounds that are due.
  void tick(Instant now);

 private:
  void wake(const Attempt& attempt, Lock lock, Instant when);
  [[nodiscard]] std::chrono::nanoseconds random(std::chrono::nanoseconds from,
                                                std::chrono::nanoseconds to);
  [[nodiscard]] bool hints_come(const QuorumAttempt& attempt) const noexcept;

  const Parts& parts_;
  std::mutex mutex_;
  base::SplitMix random_;
};

}  // namespace mortise::redlock
