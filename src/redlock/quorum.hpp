// SPDX-License-Identifier: MIT
// How many of the servers it takes. A set of servers is a word with one bit for each.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace mortise::redlock {

using NodeSet = std::uint32_t;

[[nodiscard]] constexpr NodeSet only(std::size_t node) noexcept { return NodeSet{1} << node; }
[[nodiscard]] constexpr std::size_t count(NodeSet set) noexcept {
  return static_cast<std::size_t>(std::popcount(set));
}

struct Quorum {
  std::size_t nodes = 0;

  /// Any two sets of so many servers have one in common, for even numbers of servers too.
  [[nodiscard]] constexpr std::size_t majority() const noexcept { return nodes / 2 + 1; }
  /// So many servers can keep the others from being a majority.
  [[nodiscard]] constexpr std::size_t blocking() const noexcept { return nodes - majority() + 1; }
  [[nodiscard]] constexpr NodeSet all() const noexcept { return only(nodes) - 1; }
};

/// How long one server may take. A round, and the settling of numbers that may follow it, leave a
/// third of the lease; that is longer than the library waits before it asks again, since the
/// answers that count are those of the quicker servers.
[[nodiscard]] constexpr std::chrono::nanoseconds node_timeout(
    std::chrono::nanoseconds lease) noexcept {
  return std::min<std::chrono::nanoseconds>(std::chrono::seconds(1), lease / 3);
}

/// Yes or no of each server to one quorum request.
struct Tally {
  enum class Verdict { open, yes, no };
  NodeSet yes = 0;
  NodeSet no = 0;
  NodeSet unsure = 0;  ///< of a release: over, perhaps by an earlier copy whose reply was lost

  [[nodiscard]] constexpr Verdict verdict(Quorum quorum) const noexcept {
    if (count(yes) >= quorum.majority()) return Verdict::yes;
    return count(no) >= quorum.blocking() ? Verdict::no : Verdict::open;
  }
  /// @return the same of a release by force. What a majority has ended no majority can renew.
  [[nodiscard]] constexpr Verdict verdict_by_force(Quorum quorum) const noexcept {
    const NodeSet sure = yes | no;
    if (count(yes != 0 ? sure | unsure : sure) < quorum.majority()) return Verdict::open;
    return yes != 0 ? Verdict::yes : Verdict::no;
  }
};

}  // namespace mortise::redlock
