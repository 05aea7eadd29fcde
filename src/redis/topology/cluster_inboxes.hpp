// SPDX-License-Identifier: MIT
// Notifies the waiters of a cluster. Each name has a channel in its slot, so the channel moves with
// the slot.
#pragma once

#include "redis/store/parts.hpp"
#include "redis/topology/cluster.hpp"
#include "redis/topology/slot_survey.hpp"

#include <string>

namespace mortise::redis {

/// @thread_safety every member may be called concurrently
class ClusterInboxes {
 public:
  /// @param parts, cluster, survey outlive it
  ClusterInboxes(Parts& parts, Cluster& cluster, SlotSurvey& survey)
      : parts_(parts), cluster_(cluster), survey_(survey) {}

  /// An attempt waits in a queue at that server. It joins the queue before the client listens to
  /// the channel of the name, so a message may be lost. The attempt asks again when the server has
  /// confirmed the subscription.
  void waits(Server& server, const Acquisition::Request& request);
  void opened(Server& server);
  /// @return true if it was about a subscription.
  [[nodiscard]] bool takes_message(Server& server, const Reply& message);
  /// Finds out by which clock a push has its times.
  void date(Server& server, Push& push) const;

 private:
  void ask_for(const std::string& name);

  Parts& parts_;
  Cluster& cluster_;
  SlotSurvey& survey_;
};

}  // namespace mortise::redis
