// SPDX-License-Identifier: MIT
// Asks the servers of a cluster who has which slot, and does what follows from their answers.
#pragma once

#include "redis/store/parts.hpp"
#include "redis/store/reply.hpp"
#include "redis/topology/cluster.hpp"

namespace mortise::redis {

/// @thread_safety every member may be called concurrently
class SlotSurvey {
 public:
  /// @param parts, cluster outlive it
  SlotSurvey(Parts& parts, Cluster& cluster) : parts_(parts), cluster_(cluster) {}

  /// Something looks like a change: servers are to be asked soon.
  void want();
  /// Asks those that are due.
  void look(Instant now);
  /// A server that was asked has answered.
  void answered(Server& server, const Reply& reply);
  /// A server that was asked will not answer.
  void silent(Server& server);
  /// A connection was made, and its server says this of its cluster.
  /// @return why it must not be used
  [[nodiscard]] Failure refuses(Server& server, const SlotTable& table);

 private:
  [[nodiscard]] Failure refusal_of(const Server& server, const Reply& reply) const;
  void heard(Server& server, const Cluster::Verdict& verdict);
  void follow(const Cluster::Slots& changed);
  void leave_unused(Instant now);

  Parts& parts_;
  Cluster& cluster_;
};

}  // namespace mortise::redis
