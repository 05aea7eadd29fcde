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

/// What nodes are called (URL: `interop`). No name is in its place for every library: each of them
/// orders what it knows by the number, and the rest by whatever the name begins with. Ours know all
/// of them, in one queue, whatever they are set to themselves.
enum class Naming : std::uint8_t {
  mutex,       ///< for Curator's InterProcessMutex, Go, and kazoo with a pattern
  read_write,  ///< for Curator's InterProcessReadWriteLock
  kazoo,       ///< for kazoo's locks as they are
};

/// What the name of a node tells.
struct Standing {
  std::int64_t number = 0;  ///< its place in the queue
  bool shared = false;      ///< a reader's
  bool ours = false;        ///< made by this library
  Naming naming = Naming::mutex;

  /// @return nothing = it is no lock's.
  [[nodiscard]] static std::optional<Standing> of(std::string_view node);
  /// An owner that goes on as a reader has two nodes with one number, the reader's behind its own.
  [[nodiscard]] bool is_before(const Standing& other) const noexcept {
    return number != other.number ? number < other.number : !shared && other.shared;
  }
};

/// The first digits of a node's name, which no other node has.
inline constexpr std::size_t guid_size = 16;

/// @return what an attempt's node begins with, in its n-th round: 16 hexadecimal digits, which with
/// the session's id are enough to tell nodes of our own apart; '-' and the mark, if there is one;
/// and what nodes of its kind are called.
[[nodiscard]] std::string node_prefix(const AttemptId& attempt, std::uint32_t round,
                                      std::string_view mark = {}, bool shared = false,
                                      Naming naming = Naming::mutex);

/// @return the mark: a key's, whose queue is that of others, too; or, of a reader that was the
/// owner, the number of its grant. Empty: none.
[[nodiscard]] std::string_view mark_in(std::string_view node) noexcept;

/// @return those of that mark.
[[nodiscard]] Children marked(const Children& children, std::string_view mark);

/// @return the place in the queue that a node's name tells; nothing = it is no lock's.
[[nodiscard]] std::optional<std::int64_t> sequence_of(std::string_view node);

/// @return the child whose name begins like that; empty = none.
[[nodiscard]] std::string_view find_prefix(const Children& children, std::string_view prefix);

/// @return those who have the lock: who wants it alone, and stands first; or all readers before the
/// first who does. In order.
[[nodiscard]] Children holders_of(const Children& children);

/// Where a node stands.
struct Place {
  enum class Kind : std::uint8_t {
    first,    ///< it has the lock
    behind,   ///< it waits
    missing,  ///< it is not there
    tied,     ///< another one has the same number: nobody may be granted anything
    foreign,  ///< somebody is queued here who does not see nodes with our names
  };
  Kind kind = Kind::missing;
  std::string head{};  ///< who has the lock, the first of them; empty: nobody
  bool head_is_shared = false;
  std::string predecessor{};  ///< `behind`: whose end is to be awaited
  std::size_t ahead = 0;      ///< how many keep it from the lock: of a reader, who want it alone
  std::size_t count = 0;      ///< how many there are
  std::size_t holders = 0;    ///< ... who have it
  bool wanted = false;        ///< somebody behind it waits for it to end

  [[nodiscard]] std::size_t waiters() const noexcept { return count - holders; }
  /// @param own empty: only what is said of all is asked for
  static Place of(const Children& children, std::string_view own, Naming naming = Naming::mutex);
};

}  // namespace mortise::zookeeper
