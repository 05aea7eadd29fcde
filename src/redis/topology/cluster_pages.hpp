// SPDX-License-Identifier: MIT
// Lists the names of a cluster: one master after the other, in the order of their addresses, each
// with cursors of its own.
#pragma once

#include "redis/store/parts.hpp"
#include "redis/topology/cluster.hpp"
#include "redis/topology/slot_survey.hpp"

#include <string_view>

namespace mortise::redis {

/// @thread_safety every member may be called concurrently
class ClusterPages {
 public:
  /// @param parts, cluster, survey outlive it
  ClusterPages(Parts& parts, Cluster& cluster, SlotSurvey& survey)
      : parts_(parts), cluster_(cluster), survey_(survey) {}

  /// @param call a `Listing`
  void list(const Call& call);
  void answered(Server& server, const Call& call, NamePage page);
  /// @return the cursor of that server.
  [[nodiscard]] static std::string_view cursor_at(const Server& server, std::string_view cursor);

 private:
  Parts& parts_;
  Cluster& cluster_;
  SlotSurvey& survey_;
};

}  // namespace mortise::redis
