// SPDX-License-Identifier: MIT
// The request of an attempt, and the queue of its node. It never changes.
#pragma once

#include <mortise/operation.hpp>

#include "zookeeper/lock_path.hpp"
#include "zookeeper/queue.hpp"
#include "zookeeper/session.hpp"
#include "zookeeper/settings.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace mortise::zookeeper {

struct Claim {
  AttemptId attempt{};
  std::string name{};
  Mode mode = Mode::exclusive;
  std::string label{};
  std::chrono::nanoseconds lease{};
  bool wait = false;
  std::string queue{};  ///< the path above its node
  /// The node that keeps the name, because the paths have only its digest; empty: they have it all.
  std::string name_node{};
  KeyPlace key{};  ///< of a key
  Naming naming = Naming::mutex;
  std::uint32_t permits = 0;  ///< of a semaphore: how many there are
  bool is_gate = false;       ///< it waits for a permit

  [[nodiscard]] static Claim of(const Settings& settings, const Acquisition::Request& request);
  /// @return the claim of a waiter for a permit at the gate of the semaphore.
  [[nodiscard]] Claim at_gate(const Settings& settings) const;
  /// @return the beginning of the path of its node in that round.
  [[nodiscard]] std::string prefix(std::uint32_t round) const;
  /// @return the bytes of paths that it takes from a session.
  /// @param may_be_marked its node may have the number of an owner
  [[nodiscard]] Paths paths(bool may_be_marked) const;
  /// @return how many nodes above its own may be missing.
  [[nodiscard]] std::size_t levels() const noexcept { return permits > 0 || is_gate ? 2 : 1; }
};

}  // namespace mortise::zookeeper
