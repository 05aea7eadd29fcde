// SPDX-License-Identifier: MIT
// The queue of a lock as its children tell it: whose turn it is, and behind whom one waits. Knows
// the node names of Mortise, Curator, kazoo and Go; touches no server.
#pragma once

#include <mortise/operation.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::zookeeper {

using Children = std::vector<std::string_view>;

/// From here on a queue is left to drain, so that its parent, and with it the counter, is made
/// anew: the server's counter sticks at 2^31 - 1, and whoever comes then would be a tie.
inline constexpr std::int64_t stuck_sequence = (std::int64_t{1} << 31U) - 1;
inline constexpr std::int64_t last_sequence = stuck_sequence - 1'000'000;

/// @return "<16 hexadecimal digits>-lock-": what an attempt's node begins with, in its n-th round.
/// 64 bits, which with the session's id are enough to tell nodes of our own apart.
[[nodiscard]] std::string node_prefix(const AttemptId& attempt, std::uint32_t round);

/// The first digits of a node's name, which no other node has.
inline constexpr std::size_t guid_size = 16;

/// @return "<16 hexadecimal digits>-<mark>-lock-": the same for a key, whose queue is that of
/// others, too.
[[nodiscard]] std::string node_prefix(const AttemptId& attempt, std::uint32_t round,
                                      std::string_view mark);

/// @return those of that mark.
[[nodiscard]] Children marked(const Children& children, std::string_view mark);

/// @return the place in the queue that a node's name tells; nothing = it is no lock's.
[[nodiscard]] std::optional<std::int64_t> sequence_of(std::string_view node);

/// @return the child whose name begins like that; empty = none.
[[nodiscard]] std::string_view find_prefix(const Children& children, std::string_view prefix);

/// Where a node stands.
struct Place {
  enum class Kind : std::uint8_t {
    first,    ///< it has the lock
    behind,   ///< it waits
    missing,  ///< it is not there
    tied,     ///< another one has the same number: nobody may be granted anything
    foreign,  ///< read and write locks of other libraries are queued here: not our kind of queue
  };
  Kind kind = Kind::missing;
  std::string head{};         ///< who has the lock; empty: nobody
  std::string predecessor{};  ///< `behind`: whose end is to be awaited
  std::size_t ahead = 0;      ///< how many are before it
  std::size_t count = 0;      ///< how many there are

  /// @param own empty: only `head` and `count` are asked for
  static Place of(const Children& children, std::string_view own);
};

}  // namespace mortise::zookeeper
