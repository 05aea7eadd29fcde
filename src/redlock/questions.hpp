// SPDX-License-Identifier: MIT
// The holders of a lock, and whether locks can be taken, as a majority reports it.
#pragma once

#include "redlock/parts.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace mortise::redlock {

/// A question waits until a majority of the servers has answered it. Servers that come up in
/// between are asked as well.
/// @thread_safety every member may be called concurrently
class Questions {
 public:
  /// @param parts outlive it
  explicit Questions(const Parts& parts) : parts_(parts) {}

  void look(const std::shared_ptr<Looking>& looking);
  /// @return false: the answer makes no sense
  [[nodiscard]] bool on_answer(Node& node, const redis::Call& call, VoteReply reply);
  /// There is no answer. @param refused the server answered with an error
  void no_answer(const Node& node, const redis::Call& call, const Failure& why, bool refused);
  void up(const Node& node);
  /// @return true if a caller waits
  bool down();
  [[nodiscard]] std::vector<std::shared_ptr<Looking>> close();

 private:
  void look_at(const std::shared_ptr<Looking>& looking, NodeSet nodes);
  void judge(const std::shared_ptr<Looking>& looking, Lock lock);
  [[nodiscard]] std::optional<Holder> holder_of(
      const std::vector<std::pair<std::size_t, VoteReply>>& answers, bool& decided) const;
  /// Under its mutex, as what follows. @return true if servers that have not answered yet may make
  /// a majority of the votes that others report.
  [[nodiscard]] bool may_name_more(const Looking& looking) const;
  [[nodiscard]] std::vector<VoteReply::Named> holds_of(const Looking& looking) const;
  void answer_holds(Looking& looking, const std::optional<Holder>& holder) const;

  const Parts& parts_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Looking>> lookings_;
};

}  // namespace mortise::redlock
