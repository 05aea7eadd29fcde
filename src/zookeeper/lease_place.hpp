// SPDX-License-Identifier: MIT
// The permits of a semaphore as nodes, as Curator's InterProcessSemaphoreV2 has them: who has one,
// and how many there are to be. Pure text.
#pragma once

#include "zookeeper/queue.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::zookeeper {

/// Where a semaphore is. No lock's path leads there.
struct GatePlace {
  std::string name{};    ///< the node above both, which keeps the name if only its digest is there
  std::string leases{};  ///< each permit is a node below: "/locks/%permits/gateway/leases"
  std::string locks{};   ///< the lock of whoever looks for one

  static GatePlace of(std::string_view root, std::string_view name);
};

/// @return the node below which all semaphores are.
[[nodiscard]] std::string semaphores_path(std::string_view root);
/// @return where the permits are, given the node of a semaphore.
[[nodiscard]] std::string leases_below(std::string_view semaphore);

/// @return what a permit's node begins with, in an attempt's n-th round: "<16 hexadecimal
/// digits>-<how many there are>-lease-".
[[nodiscard]] std::string lease_prefix(const AttemptId& attempt, std::uint32_t round,
                                       std::uint32_t permits);

/// Where a permit's node stands among the others. The first so many are held, whoever made them: a
/// node comes ever nearer to the front, so whoever has one keeps it.
struct LeasePlace {
  bool there = false;
  std::size_t ahead = 0;    ///< how many are before it
  std::size_t count = 0;    ///< how many there are
  std::string first{};      ///< empty: none is there
  std::int64_t number = 0;  ///< of the own node
  /// How many permits there are by somebody before it, where that is not as it was asked.
  std::optional<std::uint32_t> other_number{};

  /// @param own empty: only what is said of all is asked for
  static LeasePlace of(const Children& children, std::string_view own, std::uint32_t permits);
};

/// @return those who have a permit, in order, as whoever of ours stands first has it that there are
/// so many. Where none of ours is there it is not known: all of them.
[[nodiscard]] Children permits_held(const Children& leases);

}  // namespace mortise::zookeeper
