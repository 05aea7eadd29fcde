// SPDX-License-Identifier: MIT
// Nodes that come late. A request whose connection broke may be executed after the server showed no
// node for it: the request was in a stalled server, or in the network. No attempt would remove such
// a node while the session lives, and the node blocks its queue. So the client looks for it again,
// less and less often.
#pragma once

#include "zookeeper/parts.hpp"
#include "zookeeper/queue.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace mortise::zookeeper {

class LateNodes {
 public:
  explicit LateNodes(Parts& parts) noexcept : parts_(parts) {}

  /// A node may still come.
  /// @param queue the path of its queue
  /// @param prefix the beginning of its own path
  void add(Session& session, const std::string& queue, const std::string& prefix);
  /// Looks for those that are due.
  void look(Instant now);
  /// The queue was listed: removes what has come.
  void sweep(Session& session, const std::string& queue, const Children& children);
  /// Removes one that no attempt knows.
  void remove(Session& session, const std::string& node, const std::string& prefix);
  /// The session has a new connection: all of its nodes are looked for at once.
  void connected(const Session& session);
  /// The session is over, and all that it owned.
  void end(const Session& session);
  void clear() noexcept { nodes_.clear(); }
  /// @return when `look()` has something to do.
  [[nodiscard]] Instant due() const noexcept;

 private:
  struct Node {
    Session* session = nullptr;
    std::string queue{};
    std::string prefix{};
    Instant again{};
    std::chrono::nanoseconds pause{};
    int looks = 0;
  };
  void drop(const std::string& prefix);
  /// The server refused a request for it.
  void look_again(const Session& session, const std::string& prefix);

  Parts& parts_;
  std::vector<Node> nodes_;
};

}  // namespace mortise::zookeeper
