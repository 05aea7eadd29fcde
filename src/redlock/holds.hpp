// SPDX-License-Identifier: MIT
// The course of holds: whether a majority has renewed them, which servers must vote for a hold
// again, and how a hold ends.
#pragma once

#include "redlock/parts.hpp"

#include <chrono>
#include <memory>
#include <vector>

namespace mortise::redlock {

/// A release is answered when a majority of the servers has answered it. The exchange of each
/// server repeats it until that server has answered.
/// @thread_safety every member may be called concurrently
class Releases {
 public:
  /// @param parts outlive it
  explicit Releases(const Parts& parts) : parts_(parts) {}

  void release(const std::shared_ptr<Release>& operation);
  /// A server renewed a hold that is released, or was: it has to receive that.
  void end_late_vote(Server& server, const Renewal::Item& item, Instant asked);
  void on_answer(Node& node, const redis::Call& call, const VoteReply& reply);
  /// A server answered a release with an error. @param why of the last one
  void on_refusal(const Node& node, Ending& ending, const Failure& why);

 private:
  struct End {
    std::shared_ptr<Ending> ending{};
    std::shared_ptr<Ballot> ballot{};  ///< null = the hold is not known here
    std::chrono::nanoseconds lease{};  ///< how long it excludes other clients at most
  };
  [[nodiscard]] End end_of(const std::shared_ptr<Release>& release) const;
  void tell_all(const End& end) const;
  void judge(Ending& ending, Lock lock) const;

  const Parts& parts_;
};

/// @return the end of a hold as the library counts it (core/lease.cpp), with the usual margin.
[[nodiscard]] Instant end_of_hold(Instant counted_from, std::chrono::nanoseconds lease) noexcept;

/// @thread_safety every member may be called concurrently
class Renewals {
 public:
  /// @param parts outlive it
  explicit Renewals(const Parts& parts) : parts_(parts) {}

  void renew(const std::shared_ptr<Renewal>& operation);
  /// Has those addresses vote for the hold of that ballot, as long as it stands.
  void relock(const std::shared_ptr<Ballot>& ballot, NodeSet nodes) const;
  /// @return false: the answer makes no sense
  [[nodiscard]] bool on_answer(Node& node, const redis::Call& call, const VoteReply& reply);
  /// There is no answer. @param refused the server answered with an error
  /// @param apart because of one of the names
  void no_answer(const Node& node, const redis::Call& call, const Failure& why, bool refused,
                 bool apart);

 private:
  /// @return that of the hold; null = it does not stand
  [[nodiscard]] std::shared_ptr<Ballot> ballot_of(const HoldId& hold) const;
  void note_votes(Node& node, Renewing& renewing, const std::vector<int>& codes) const;
  void judge(const std::shared_ptr<Renewing>& renewing, Lock lock);
  void relock(const HoldId& hold, NodeSet nodes) const;

  const Parts& parts_;
};

}  // namespace mortise::redlock
